package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/streams"
	"ratchet/tests/shop"
	"ratchet/workflow"
)

// TestNoTenantMakesWhatHasNoLimit: API keys, imports and stored reports have no share of a tenant, because no request of a
// tenant makes one (docs/operate/security.md). Every operation of the document that changes something is tried by an admin.
func TestNoTenantMakesWhatHasNoLimit(t *testing.T) {
	byID := map[string]operation{}
	for _, o := range operations(t) {
		byID[o.id] = o
	}
	admin, tried := person(auth.DefaultTenant, auth.Admin), 0
	admin.Personal = true

	for _, row := range repeats {
		// Signed by the carrier or the bank, or it changes nothing.
		if strings.HasSuffix(row.operation, "-callback") || notActs[row.operation] == asks {
			continue
		}
		tried++

		s := newAPIServer(t, func(c *api.Config) {
			dev(c)
			c.Handlers = []streams.Handler{repeatHandler}
		})

		result := ""
		if row.setup != nil {
			result = row.setup(s)
		}
		before := s.unlimited()

		body := strings.ReplaceAll(row.body, "$", result)
		a := s.as(admin, byID[row.operation].method, strings.ReplaceAll(row.path, "$", result), body, "Idempotency-Key", "key")

		if after := s.unlimited(); a.StatusCode >= http.StatusBadRequest || after != before {
			t.Errorf("%s: %d, and rows %s before, %s after", row.operation, a.StatusCode, before, after)
		}
	}

	if tried < 40 {
		t.Errorf("only %d operations were tried", tried)
	}

	s := newAPIServer(t, dev)
	placed(s)
	s.want(s.as(admin, "POST", "/v1/orders/o-1/transitions", fmt.Sprintf(`{"event":%q}`, workflow.Imported), "Idempotency-Key", "import"), http.StatusUnprocessableEntity, "illegal")
}

// unlimited says how many rows there are of what has no limit.
func (s *apiServer) unlimited() string {
	s.t.Helper()

	count := func(in *dynamodb.ScanInput) int {
		out, err := s.db.Scan(s.t.Context(), in)
		if err != nil {
			s.t.Fatal(err)
		}

		return len(out.Items)
	}
	keys, stored, imported := "keys", "reports", 0

	for _, table := range []string{shop.OrdersTable, shop.JournalTable} {
		out, err := s.db.Scan(s.t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil {
			s.t.Fatal(err)
		}

		for _, item := range out.Items {
			if text, _ := json.Marshal(item); strings.Contains(string(text), string(workflow.Imported)) {
				imported++
			}
		}
	}

	return fmt.Sprintf("keys %d, reports %d, imports %d", count(&dynamodb.ScanInput{TableName: &keys}), count(&dynamodb.ScanInput{TableName: &stored}), imported)
}
