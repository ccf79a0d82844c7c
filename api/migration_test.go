package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ratchet/api/auth"
	"ratchet/operate/processes"
	"ratchet/workflow/file"
)

// TestTheMigrationPlanIsSaidFromTheCounts: what would become of the tenant's orders of other versions, without a read of an order. Those
// that need a mapping stand first.
func TestTheMigrationPlanIsSaidFromTheCounts(t *testing.T) {
	s, store := newProcessesServer(t)
	key := func(tenant auth.Tenant) string { return s.key(tenant, auth.Read) }

	if a := s.want(s.ask("GET", "/v1/workflow/migration", "", "Authorization", key("acme")), http.StatusOK, ""); !strings.Contains(a.text, `"moves":[]`) || strings.Contains(a.text, "countedAt") {
		t.Error(a.text)
	}

	own := s.cfg.Orders.Definition().Version()

	for owner, n := range map[string]int64{"": 70, "acme": 3} {
		err := store.StoreCount(t.Context(), owner, processes.Count{
			At: time.Now(), Orders: map[int]map[string]int64{
				own:     {"PENDING": n},
				0:       {"PENDING": n},
				own + 6: {"PENDING": n, "DELIVERED": n + 1, "PARKED": n + 2, "SHIPPED": -1},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	a := s.want(s.ask("GET", "/v1/workflow/migration", "", "Authorization", key("acme")), http.StatusOK, "")
	for _, want := range []string{
		`"moves":[{"version":7,"state":"PARKED","orders":5,"ends":false},{"version":7,"state":"DELIVERED","orders":4,"to":"DELIVERED","ends":`, `{"version":7,"state":"PENDING","orders":3,"to":"PENDING","ends":false}]`,
		`"outdated":7`, `"unmapped":5`, `"countedAt":`,
	} {
		if want = strings.ReplaceAll(want, `"version":7`, fmt.Sprintf(`"version":%d`, own+6)); !strings.Contains(a.text, want) {
			t.Errorf("no %s in %s", want, a.text)
		}
	}
}

// TestWithoutCountsThereIsNoMigrationPlan.
func TestWithoutCountsThereIsNoMigrationPlan(t *testing.T) {
	s := newAPIServer(t, nil)
	s.want(s.ask("GET", "/v1/workflow/migration", "", "Authorization", s.key("acme", auth.Read)), http.StatusNotFound, "counts_not_found")
}

// TestAMigrationIsPlannedWithAMapping: with the texts that the command and a job take, from the counts. A text that is wrong is refused
// with its member, its line and the rule.
func TestAMigrationIsPlannedWithAMapping(t *testing.T) {
	s, store := newProcessesServer(t)
	own := s.cfg.Orders.Definition()
	old, other := own.Version()+6, own.Version()+7

	err := store.StoreCount(t.Context(), "acme", processes.Count{At: time.Now(), Orders: map[int]map[string]int64{
		own.Version(): {"PENDING": 1},
		old:           {"PENDING": 3, "PARKED": 5, "SHIPPED": 7, "DELIVERED": 2},
		other:         {"PENDING": 11},
	}})
	if err != nil {
		t.Fatal(err)
	}

	former := strings.NewReplacer("ON_HOLD", "PARKED", fmt.Sprintf("version: %d", own.Version()), fmt.Sprintf("version: %d", old)).Replace(file.Format(own))
	mapping := fmt.Sprintf("migrations:\n  - {from: %d, to: %d, states: {PARKED: ON_HOLD, SHIPPED: DELIVERED}}\n", old, own.Version())
	plan := func(definitions []string, mapping string) string {
		texts := map[string]any{"mapping": mapping}
		if definitions != nil {
			texts["definitions"] = definitions
		}

		body, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}

		return string(body)
	}
	ask := func(body string) answer {
		return s.ask("POST", "/v1/workflow/migration", body, "Authorization", s.key("acme", auth.Admin))
	}

	a := s.want(ask(plan([]string{former}, mapping)), http.StatusOK, "")
	for _, want := range []string{
		`"moves":[{"version":OTHER,"state":"PENDING","orders":11,"ends":false,"problem":"version OTHER is not known"},{"version":FORMER,"state":"DELIVERED","orders":2,"to":"DELIVERED"`,
		`{"version":FORMER,"state":"PARKED","orders":5,"to":"ON_HOLD","ends":false}`, `{"version":FORMER,"state":"PENDING","orders":3,"to":"PENDING","ends":false}`,
		`{"version":FORMER,"state":"SHIPPED","orders":7,"to":"DELIVERED"`, `"outdated":17`, `"unmapped":11`, `"countedAt":`,
	} {
		want = strings.NewReplacer("FORMER", fmt.Sprint(old), "OTHER", fmt.Sprint(other)).Replace(want)
		if !strings.Contains(a.text, want) {
			t.Errorf("no %s in %s", want, a.text)
		}
	}

	// Without a mapping from version to version no way leads to the server's.
	if a = s.want(ask(plan([]string{former}, "")), http.StatusOK, ""); !strings.Contains(a.text, fmt.Sprintf("no migration leads from version %d to %d", old, own.Version())) || !strings.Contains(a.text, `"unmapped":28`) {
		t.Error(a.text)
	}

	for body, want := range map[string][2]string{
		plan([]string{former, "states: 5"}, mapping):                          {"/definitions/1", "definition 2:1"},
		plan([]string{former, former}, mapping):                               {"/definitions", "is there twice"},
		plan([]string{former}, "migrations: 7"):                               {"/mapping", "mapping:1"},
		plan([]string{former}, strings.ReplaceAll(mapping, "PARKED", "LOST")): {"/mapping", "mapping:2: migration from version"},
		plan(nil, mapping): {"/mapping", "is not known"},
		plan(nil, strings.Repeat("# a comment\n", 11e3)): {"/mapping", "and at most 131072"},
	} {
		a := s.want(ask(body), http.StatusUnprocessableEntity, "invalid_request")
		if !strings.Contains(a.text, fmt.Sprintf("%q", want[0])) || !strings.Contains(a.text, want[1]) {
			t.Errorf("%.200s: no %s, %s", a.text, want[0], want[1])
		}
	}

	job := s.want(s.ask("POST", "/v1/jobs", `{"kind":"orders-migrate","migration":{"mapping":"migrations: 7"}}`, "Authorization", s.key(auth.DefaultTenant, auth.Admin)), http.StatusUnprocessableEntity, "invalid_request")
	if !strings.Contains(job.text, `"pointer":"/migration/mapping","detail":"mapping:1`) {
		t.Errorf("a job: %s", job.text)
	}

	s.want(s.ask("POST", "/v1/workflow/migration", plan(nil, ""), "Authorization", s.key("acme", auth.Read)), http.StatusForbidden, "forbidden")
}
