package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/operate/executions"
)

// listedExecutions is an answer with a list of executions.
type listedExecutions struct {
	Executions []struct {
		Name, OrderID, Status, Error, Cause string
		Number                              int
	}
	Next string
}

// executions reads all pages of a list of executions.
func (s *apiServer) executions(path, bearer string) (names []string) {
	s.t.Helper()

	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}

	for next, pages := "", 0; ; pages++ {
		target := path + join + "limit=2"
		if next != "" {
			target += "&cursor=" + next
		}

		var page listedExecutions
		s.want(s.ask("GET", target, "", "Authorization", bearer), http.StatusOK, "").read(s.t, &page)

		if len(page.Executions) > 2 || pages > 20 {
			s.t.Fatalf("page %d of %s has %d entries", pages, path, len(page.Executions))
		}

		for _, x := range page.Executions {
			names = append(names, fmt.Sprintf("%s %s %s", x.Name, x.OrderID, x.Status))
		}

		if next = page.Next; next == "" {
			return names
		}
	}
}

func TestExecutionsAreListedForTheTenantOfTheirOrder(t *testing.T) {
	s, start := withExecutions(t, func(*api.Config) {})
	foreign := executions.Name("acme:o-1")
	start("o-1", "o-1")
	start(foreign, "acme:o-1")
	start("run-17", "acme:o-2") // the name does not say whose it is
	start("o-2", "o-2")
	start("wait-1", "wait-1")

	own, acme, other := s.key(auth.DefaultTenant, auth.Read), s.key("acme", auth.Read), s.key("other", auth.Admin)

	for about, row := range map[string]struct {
		path, bearer, want string
	}{
		"all of the default tenant":  {"/v1/executions", own, "[wait-1 wait-1 RUNNING o-2 o-2 FAILED o-1 o-1 FAILED]"},
		"those that have failed":     {"/v1/executions?status=FAILED", own, "[o-2 o-2 FAILED o-1 o-1 FAILED]"},
		"those that run":             {"/v1/executions?status=RUNNING", own, "[wait-1 wait-1 RUNNING]"},
		"another tenant's":           {"/v1/executions", acme, "[run-17 o-2 FAILED " + foreign + " o-1 FAILED]"},
		"of a tenant without orders": {"/v1/executions", other, "[]"},
		"of an order":                {"/v1/orders/o-1/executions", own, "[o-1 o-1 FAILED]"},
		"of an order of a tenant":    {"/v1/orders/o-1/executions", acme, "[" + foreign + " o-1 FAILED]"},
	} {
		if got := fmt.Sprint(s.executions(row.path, row.bearer)); got != row.want {
			t.Errorf("%s: %s, want %s", about, got, row.want)
		}
	}

	s.want(s.ask("GET", "/v1/orders/none/executions", "", "Authorization", own), http.StatusNotFound, "order_not_found")
	s.want(s.ask("GET", "/v1/orders/o-1/executions", "", "Authorization", other), http.StatusNotFound, "order_not_found")

	// A cursor belongs to its list and tenant.
	var page listedExecutions
	s.must("GET", "/v1/executions?limit=1", "", "Authorization", own).read(t, &page)
	s.want(s.ask("GET", "/v1/executions?cursor="+page.Next, "", "Authorization", acme), http.StatusBadRequest, "invalid_cursor")
	s.want(s.ask("GET", "/v1/executions?status=FAILED&cursor="+page.Next, "", "Authorization", own), http.StatusBadRequest, "invalid_cursor")
}

func TestAnExecutionOfAnotherTenantSeemsNotToExist(t *testing.T) {
	s, start := withExecutions(t, func(*api.Config) {})
	foreign := executions.Name("acme:o-1")
	start(foreign, "acme:o-1")
	start("run-17", "acme:o-2")

	for _, bearer := range []string{s.key(auth.DefaultTenant, auth.Admin), s.key("evil", auth.Admin)} {
		missing := s.ask("GET", "/v1/executions/none", "", "Authorization", bearer)

		for _, name := range []string{foreign, "run-17"} {
			if a := s.want(s.ask("GET", "/v1/executions/"+name, "", "Authorization", bearer), http.StatusNotFound, "execution_not_found"); a.text != missing.text {
				t.Errorf("%s, a missing one: %s", a.text, missing.text)
			}
		}
	}

	a := s.want(s.ask("GET", "/v1/executions/"+foreign, "", "Authorization", s.key("acme", auth.Read)), http.StatusOK, "")
	if a.field("execution", "orderId") != "o-1" {
		t.Errorf("its own: %s", a.text)
	}
}

// The history comes page by page. Its data, which contain the order, are for callers with the grant.
func TestAnExecutionIsReadWithItsHistory(t *testing.T) {
	s, start := withExecutions(t, func(*api.Config) {})
	start("o-1", "o-1")

	type event struct {
		ID                 int64
		Type, State, Error string
		Input              any
	}

	for _, personal := range []bool{true, false} {
		bearer := s.keyOf(auth.NewKey{Tenant: auth.DefaultTenant, Scope: auth.Read, Personal: personal})

		for _, newest := range []bool{false, true} {
			var all []event
			var whole string

			for next := ""; ; {
				target := fmt.Sprintf("/v1/executions/o-1?limit=2&newest=%t", newest)
				if next != "" {
					target += "&cursor=" + next
				}

				var page struct {
					Execution struct{ Name, Status, Cause string }
					Input     any
					Events    []event
					Next      string
				}
				a := s.want(s.ask("GET", target, "", "Authorization", bearer), http.StatusOK, "")
				a.read(t, &page)
				all, whole = append(all, page.Events...), whole+a.text

				if input, _ := page.Input.(map[string]any); (input["orderId"] == "o-1") != personal || page.Execution.Status != "FAILED" {
					t.Errorf("with the grant %t: %s", personal, a.text)
				}

				if len(page.Events) > 2 {
					t.Fatalf("a page has %d events", len(page.Events))
				}

				if next = page.Next; next == "" {
					break
				}
			}

			first, last := all[0], all[len(all)-1]
			if newest {
				first, last = last, first
			}

			if len(all) < 5 || first.ID != 1 || first.Type != "ExecutionStarted" || last.Type != "ExecutionFailed" || last.Error != "Order.Invalid" {
				t.Errorf("newest first %t: %+v", newest, all)
			}

			if strings.Contains(whole, "the total is wrong") != personal || strings.Contains(whole, `"state":"Accept"`) != true || strings.Contains(whole, `\"orderId\"`) {
				t.Errorf("with the grant %t: %s", personal, whole)
			}
		}
	}
}

// The quota of Step Functions is shared with what brings orders on.
func TestQuestionsAboutExecutionsAreBounded(t *testing.T) {
	s, _ := withExecutions(t, func(*api.Config) {})
	bearer := s.key(auth.DefaultTenant, auth.Read)

	refused := answer{}
	for range 10 { // 21 calls each, of 60
		if refused = s.ask("GET", "/v1/executions?limit=20", "", "Authorization", bearer); refused.StatusCode != http.StatusOK {
			break
		}
	}

	s.want(refused, http.StatusTooManyRequests, "rate_limited")

	if refused.Header.Get("Retry-After") == "" {
		t.Error("the answer does not say when to ask again")
	}
}

func TestExecutionsOfAServerWithoutThemAreNotFound(t *testing.T) {
	s := newAPIServer(t, dev)
	for _, path := range []string{"/v1/executions", "/v1/executions/o-1", "/v1/orders/o-1/executions"} {
		s.want(s.ask("GET", path, ""), http.StatusNotFound, "execution_not_found")
	}
}
