package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/operate/processes"
)

// TestAQuestionIsAskedOnItsPage: the button leads to a form, the answer comes to the page with its age and leads to the orders, and a
// tenant sees its own. Another site cannot ask.
func TestAQuestionIsAskedOnItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(t, forPages)
		p := s.pages()
		admin, acme := whose(auth.DefaultTenant, auth.Admin), whose("acme", auth.Admin)

		page := func(path string, wants ...string) string {
			t.Helper()

			a := p.send(admin, "GET", console.Path+path, nil)
			for _, want := range wants {
				if a.StatusCode != http.StatusOK || !strings.Contains(a.text, want) {
					t.Errorf("%s: %d, no %s in %s", path, a.StatusCode, want, a.text)
				}
			}

			return a.text
		}
		page("/doctor", "not asked", console.Path+"/doctor/verify", console.Path+"/act/plan", "Compares every order with its journal.")
		page("/doctor/verify", "There is no answer yet.", "ratchet verify", console.Path+"/act/verify")

		form := formOn(p.send(admin, "GET", console.Path+"/act/verify", nil))
		form.Set("reason", "an order looks wrong")

		if a := p.send(admin, "POST", console.Path+"/act/verify", form); a.StatusCode != http.StatusOK || !strings.Contains(a.text, "Done.") || !strings.Contains(a.text, console.Path+"/doctor/verify") {
			t.Fatalf("%d %s", a.StatusCode, a.text)
		}
		synctest.Wait()
		time.Sleep(time.Minute)

		page("/doctor/verify", "answered", "<dt>orders</dt><dd>7</dd>", `href="/console/orders/o-1"`, "<td>gap</td>", "`ratchet orders rebuild o-1`", "<rt-ago")
		page("/doctor", "answered")

		// Another tenant has its own questions, and not those about what belongs to all.
		if a := p.send(acme, "GET", console.Path+"/doctor", nil); a.StatusCode != http.StatusOK || strings.Contains(a.text, "/act/plan") || strings.Contains(a.text, ">answered<") || !strings.Contains(a.text, "/act/verify") {
			t.Errorf("%d %s", a.StatusCode, a.text)
		}

		if a := p.send(acme, "GET", console.Path+"/doctor/doctor", nil); a.StatusCode != http.StatusForbidden {
			t.Errorf("%d %s", a.StatusCode, a.text)
		}

		// Who may not ask has no button.
		if a := p.send(whose(auth.DefaultTenant, auth.Act), "GET", console.Path+"/doctor", nil); a.StatusCode != http.StatusForbidden || strings.Contains(a.text, "/act/") {
			t.Errorf("%d %s", a.StatusCode, a.text)
		}

		if a := p.send(admin, "POST", console.Path+"/act/verify", url.Values{}); a.StatusCode == http.StatusOK {
			t.Errorf("an empty form: %s", a.text)
		}
	})
}

// TestThePageOfTheWorkflowSaysWhatAMigrationWouldDo.
func TestThePageOfTheWorkflowSaysWhatAMigrationWouldDo(t *testing.T) {
	s, store := newProcessesServer(t)
	p, admin := s.pages(), whose(auth.DefaultTenant, auth.Admin)

	page := func(wants ...string) {
		t.Helper()

		a := p.send(admin, "GET", console.Path+"/workflow", nil)
		for _, want := range wants {
			if a.StatusCode != http.StatusOK || !strings.Contains(a.text, want) {
				t.Errorf("%d, no %s in %s", a.StatusCode, want, a.text)
			}
		}
	}
	page("The orders have not been counted yet.")

	own := s.cfg.Orders.Definition().Version()
	count := func(orders map[int]map[string]int64, at time.Time) {
		t.Helper()

		if err := store.StoreCount(t.Context(), "", processes.Count{At: at, Orders: orders}); err != nil {
			t.Fatal(err)
		}
	}

	count(map[int]map[string]int64{own: {"PENDING": 3}}, time.Now().Add(-time.Hour))
	page("No order has another version than")

	count(map[int]map[string]int64{own + 1: {"PENDING": 1200, "<b>gone</b>": 2}}, time.Now())
	page("needs a mapping", "&lt;b&gt;gone", "1,200 orders of other versions", console.Path+"/act/orders-migrate")
}
