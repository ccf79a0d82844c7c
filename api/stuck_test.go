package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/operate/processes"
)

// newProcessesServer returns an API with a table of processes.
func newProcessesServer(t *testing.T) (s *apiServer, store *processes.Store) {
	t.Helper()

	s = newAPIServer(t, withProcesses(t))

	return s, s.cfg.Processes
}

// withProcesses lets a server have a table of processes.
func withProcesses(t *testing.T) func(*api.Config) {
	t.Helper()

	return func(c *api.Config) {
		db := c.DeadLetters.DynamoDB.(*dynamodb.Client)
		embeddedtest.Create(t, db, processes.TableInput("processes"))

		var err error
		if c.Processes, err = processes.New(processes.Config{DynamoDB: db, Table: "processes"}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStuckOrdersAreListedByTenant: each tenant sees its own, with the next step, in its own ids.
func TestStuckOrdersAreListedByTenant(t *testing.T) {
	s, store := newProcessesServer(t)
	now := time.Now()

	for _, id := range []string{"acme:o-1", "evil:o-2", "o-3"} {
		err := store.StoreStuck(t.Context(), processes.StuckOrder{
			OrderID: id, Kind: "failed", State: "PENDING", Cause: "the execution of " + id + " ended", Commands: []string{"ratchet executions repair " + id},
			FoundAt: now, ExpiresAt: now.Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	a := s.want(s.ask("GET", "/v1/stuck-orders", "", "Authorization", s.key("acme", auth.Admin)), http.StatusOK, "")
	if !strings.Contains(a.text, `"orderId":"o-1","kind":"failed"`) || !strings.Contains(a.text, `"next":"ratchet executions repair o-1"`) || strings.Contains(a.text, "acme:") || strings.Contains(a.text, "o-2") || strings.Contains(a.text, "o-3") {
		t.Error(a.text)
	}
	s.want(s.ask("GET", "/v1/stuck-orders", "", "Authorization", s.key("acme", auth.Act)), http.StatusForbidden, "forbidden")

	// Without lists of orders a filter by time is refused by name.
	s.want(s.ask("GET", "/v1/orders?since=2026-01-01T00:00:00Z", "", "Authorization", s.key("acme", auth.Read)), http.StatusUnprocessableEntity, "filter_unsupported")
}
