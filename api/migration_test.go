package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ratchet/api/auth"
	"ratchet/operate/processes"
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
