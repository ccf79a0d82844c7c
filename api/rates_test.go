package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/operate/processes"
)

// TestTheLastHourIsSummedByTheMinute over all processes, and is for administrators of the default tenant.
func TestTheLastHourIsSummedByTheMinute(t *testing.T) {
	minute := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	failure := error(nil)

	s := newAPIServer(t, func(c *api.Config) {
		c.LastHour = func() (processes.Hour, error) {
			return processes.Hour{Since: minute.Add(-time.Minute), UpTo: minute.Add(2 * time.Minute), Minutes: []processes.Minute{
				{At: minute, Decided: []processes.Decided{{Event: "ship", Verdict: "WrongState", Count: 2}, {Event: "ship", Verdict: "Applied", Count: 1}}, Behind: 3},
				{At: minute, Decided: []processes.Decided{{Event: "ship", Verdict: "WrongState", Count: 5}}, Counters: map[string]int64{"placed": 4}, Others: 9, Behind: 1},
				// A process that has ended within the next minute.
				{At: minute.Add(20 * time.Second), Decided: []processes.Decided{{Event: "pay", Verdict: "Replayed", Count: 1}}},
			}}, failure
		}
	})

	a := s.want(s.ask("GET", "/v1/rates", "", "Authorization", s.key(auth.DefaultTenant, auth.Admin)), http.StatusOK, "")
	for _, text := range []string{
		`"decided":[{"event":"ship","verdict":"WrongState","count":7},{"event":"pay","verdict":"Replayed","count":1},{"event":"ship","verdict":"Applied","count":1}]`,
		`"others":9`,
		`"at":"2026-11-29T12:00:00Z","placed":4,"applied":1,"replayed":0,"refused":7,`,
		`"behindSeconds":3`,
		`"at":"2026-11-29T12:01:00Z","placed":0,"applied":0,"replayed":1,"refused":0,`,
	} {
		if !strings.Contains(a.text, text) {
			t.Errorf("without %s: %s", text, a.text)
		}
	}

	s.want(s.ask("GET", "/v1/rates", "", "Authorization", s.key("acme", auth.Admin)), http.StatusForbidden, "forbidden")
	s.want(s.ask("GET", "/v1/rates", "", "Authorization", s.key(auth.DefaultTenant, auth.Act)), http.StatusForbidden, "forbidden")

	failure = errors.New("the rows cannot be read")
	s.want(s.ask("GET", "/v1/rates", "", "Authorization", s.key(auth.DefaultTenant, auth.Admin)), http.StatusInternalServerError, "internal")
}

// TestOrdersAreCountedByTenant: each tenant sees its own numbers, with their age and what they may lack.
func TestOrdersAreCountedByTenant(t *testing.T) {
	s, store := newProcessesServer(t)

	for owner, n := range map[string]int64{"": 7, "acme": 3} {
		err := store.StoreCount(t.Context(), owner, processes.Count{
			At: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), Error: 2, Orders: map[int]map[string]int64{1: {"PENDING": n, "SHIPPED": -1}, 2: {"PENDING": 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	for tenant, want := range map[auth.Tenant]string{
		auth.DefaultTenant: `{"counts":[{"state":"PENDING","version":1,"orders":7},{"state":"PENDING","version":2,"orders":1}],"orders":8,"countedAt":"2026-11-29T12:00:00Z","upTo":"2026-11-29T12:00:00Z","error":2}`,
		"acme":             `{"counts":[{"state":"PENDING","version":1,"orders":3},{"state":"PENDING","version":2,"orders":1}],"orders":4,"countedAt":"2026-11-29T12:00:00Z","upTo":"2026-11-29T12:00:00Z","error":2}`,
		"evil":             `{"counts":[],"orders":0,"error":0}`,
	} {
		a := s.want(s.ask("GET", "/v1/order-counts", "", "Authorization", s.key(tenant, auth.Read)), http.StatusOK, "")
		if strings.TrimSpace(a.text) != want {
			t.Errorf("%s: %s, want %s", tenant, a.text, want)
		}
	}
}

// TestQuotasAndPricesHaveTheirSource: what plans are computed with, for every caller.
func TestQuotasAndPricesHaveTheirSource(t *testing.T) {
	s := newAPIServer(t, nil)

	a := s.want(s.ask("GET", "/v1/quotas", "", "Authorization", s.key("acme", auth.Read)), http.StatusOK, "")
	for _, text := range []string{
		`{"unit":"read unit","dollarsPerMillion":0.125,"source":"https://aws.amazon.com/dynamodb/`, `{"unit":"write unit","dollarsPerMillion":0.625,`,
		`{"unit":"state transition","dollarsPerMillion":25,"source":"https://aws.amazon.com/step-functions/`,
		`{"name":"StartExecution","quota":300,"source":"https://docs.aws.amazon.com/step-functions/`,
	} {
		if !strings.Contains(a.text, text) {
			t.Errorf("without %s: %s", text, a.text)
		}
	}
}
