package api_test

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/operate/inspect"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// pages are the console over the API, for the person that each request names.
type pages struct {
	s       *apiServer
	handler http.Handler
	// lose answers requests that change something in place of the API: before it was asked, or after.
	lose atomic.Value
}

// viewerKey is the key of who looks at a page, in the context of a request.
type viewerKey struct{}

func (s *apiServer) pages() *pages {
	s.t.Helper()

	draining := make(chan struct{})
	s.t.Cleanup(func() { close(draining) })

	return s.pagesUntil(draining)
}

func (s *apiServer) pagesUntil(draining <-chan struct{}) *pages {
	s.t.Helper()

	p := &pages{s: s}
	p.lose.Store("")
	p.handler = newPages(s.t, http.HandlerFunc(p.ask), draining)

	return p
}

// newPages returns the console over an API, for the person that the context of each request names.
func newPages(t testing.TB, over http.Handler, draining <-chan struct{}) http.Handler {
	t.Helper()

	handler, err := console.New(console.Config{
		API: over,
		Identify: func(r *http.Request) (api.Identity, bool) {
			by, known := r.Context().Value(viewerKey{}).(api.Identity)
			return by, known
		},
		Log: slog.New(slog.DiscardHandler), Draining: draining,
	})
	if err != nil {
		t.Fatal(err)
	}

	return handler
}

func (p *pages) ask(w http.ResponseWriter, r *http.Request) {
	switch lost := p.lose.Load(); {
	case lost == "" || r.Method == http.MethodGet:
		p.s.handler.ServeHTTP(w, r)
	case lost == "after":
		p.s.handler.ServeHTTP(httptest.NewRecorder(), r)
		http.Error(w, "", http.StatusBadGateway)
	default:
		http.Error(w, "", http.StatusBadGateway)
	}
}

// send sends a request of the browser.
func (p *pages) send(by api.Identity, method, path string, form url.Values) answer {
	p.s.t.Helper()

	r := httptest.NewRequestWithContext(context.WithValue(p.s.t.Context(), viewerKey{}, by), method, "http://localhost"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Sec-Fetch-Site", "same-origin")

	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)

	return answer{w.Result(), w.Body.String()}
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// formOn returns the values that the form of a page sends by itself.
func formOn(a answer) url.Values {
	form := url.Values{}
	for _, found := range hiddenInput.FindAllStringSubmatch(a.text, -1) {
		form.Set(found[1], html.UnescapeString(found[2]))
	}

	return form
}

// filled is the form with further values.
func filled(form url.Values, more map[string]string) url.Values {
	for name, value := range more {
		form.Set(name, value)
	}

	return form
}

// whose returns an identity of the console with the grant for personal data.
func whose(tenant auth.Tenant, scope auth.Scope) api.Identity {
	by := person(tenant, scope)
	by.Personal = true

	return by
}

// actCase is an act and its subject.
type actCase struct {
	name      string
	operation string
	change    func(*api.Config)
	// setup makes what the act is done to, and returns the values of the button.
	setup  func(*apiServer) map[string]string
	fields map[string]string // that the person fills in
	// effect shows what the act changes.
	effect func(*apiServer) string
	// foreign says that the same form is an act on something else of the other tenant.
	foreign bool
	// unmarked says that the answer does not tell a repeat: the request names the state that it leads to.
	unmarked bool
}

// forPages serves without authentication, and looks at the effects of orders, as a server does.
func forPages(c *api.Config) {
	dev(c)
	c.DueBefore = func(context.Context, transitions.OrderID, workflow.Event, func(*transitions.Order) bool) ([]inspect.Due, error) {
		return nil, nil
	}
}

// read returns a way to see an effect: a member of an answer of the API.
func read(path string, member ...string) func(*apiServer) string {
	return func(s *apiServer) string {
		a := s.ask("GET", path, "")
		if len(member) == 0 || a.StatusCode != http.StatusOK {
			return fmt.Sprint(a.StatusCode)
		}

		return a.field(member...)
	}
}

// has returns a setup that needs nothing but values.
func has(values map[string]string, prepare ...func(*apiServer)) func(*apiServer) map[string]string {
	return func(s *apiServer) map[string]string {
		for _, p := range prepare {
			p(s)
		}

		return values
	}
}

func anOrder(s *apiServer) { s.must("PUT", "/v1/orders/o-1", mugs) }

// aRequestForLater places one, and returns what names it.
func aRequestForLater(s *apiServer) map[string]string {
	anOrder(s)
	placed := s.must("POST", "/v1/orders/o-1/scheduled", fmt.Sprintf(`{"event":"cancel","at":"%s:00Z"}`, inDays(1)), "Idempotency-Key", "later")

	return map[string]string{"order": "o-1", "scheduled": strings.Trim(placed.field("id"), `"`)}
}

// inDays is a time as a form has it.
func inDays(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format("2006-01-02T15:04") }

func anEndpointOf(s *apiServer) { anEndpoint(s) }

func notifies(c *api.Config) { c.Handlers = []streams.Handler{{Name: "notify", Handle: refuses}} }

// aLetter makes a dead letter, and returns what names it.
func aLetter(s *apiServer) map[string]string {
	anOrder(s)
	s.createDeadLetters(s.cfg.Handlers[0], 1)

	var list struct{ Letters []struct{ ID string } }
	s.must("GET", "/v1/dead-letters/notify", "").read(s.t.(*testing.T), &list)

	return map[string]string{"handler": "notify", "letter": list.Letters[0].ID}
}

func refundable(s *apiServer) {
	s.authorize("p-1")
	s.must("PUT", "/v1/payments/p-1/captures/c-1", `{"amount":600}`)
}

// anExecution fails before its order exists.
func anExecution(s *apiServer) { s.serveExecutions()("o-1", "o-1") }

// ownActs counts the acts of the default tenant.
func ownActs(s *apiServer) string {
	own := 0
	for _, e := range s.acts() {
		if e.Tenant == "" {
			own++
		}
	}

	return fmt.Sprint(own)
}

func paused(s *apiServer) string {
	found, err := s.cfg.RetryQueue.Paused(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}

	return fmt.Sprint(len(found))
}

// withLists lets the server have lists of orders.
func withLists(c *api.Config) { c.Lists = &lists.Lists{} }

// aJobOf returns a way to see the open jobs of the kind.
func aJobOf(kind string) func(*apiServer) string {
	return func(s *apiServer) string {
		return fmt.Sprint(strings.Count(s.must("GET", "/v1/jobs", "").text, kind))
	}
}

func anOpenJob(s *apiServer) map[string]string { return map[string]string{"job": aJob(s)} }

func stateOfJob(s *apiServer) string {
	var list struct{ Jobs []struct{ State string } }
	s.must("GET", "/v1/jobs", "").read(s.t.(*testing.T), &list)

	return list.Jobs[0].State
}

func actCases() []actCase {
	real := map[string]string{"dryRun": ""}
	order, endpoint, handler := map[string]string{"order": "o-1"}, map[string]string{"endpoint": "shop"}, map[string]string{"handler": "notify"}
	item := map[string]string{"order": "o-1", "sku": "mug"}
	task := map[string]string{"order": "o-1", "state": "SHIPPED"}
	waits := func(s *apiServer) { s.waitForShipment("o-1") }
	later := read("/v1/orders/o-1/scheduled", "scheduled")
	booked := &atomic.Int64{}
	tasks := read("/v1/orders/o-1/parked-tasks", "tasks")

	return []actCase{
		{name: "apply", operation: "apply-transition", setup: has(map[string]string{"order": "o-1", "event": "hold"}, anOrder), effect: read("/v1/orders/o-1", "transitionId")},
		{name: "change-item", operation: "change-item", setup: has(item, anOrder), fields: map[string]string{"quantity": "7", "price": "11"}, effect: read("/v1/orders/o-1", "contentVersion")},
		{name: "remove-item", operation: "remove-item", setup: has(item, func(s *apiServer) {
			anOrder(s)
			s.must("POST", "/v1/orders/o-1/items", `{"items":[{"sku":"pen","quantity":1,"price":2}]}`, "Idempotency-Key", "pen")
		}), effect: read("/v1/orders/o-1", "contentVersion")},
		{name: "add-item", operation: "add-items", setup: has(order, anOrder), fields: map[string]string{"sku": "pen", "quantity": "1", "price": "2"}, effect: read("/v1/orders/o-1", "contentVersion")},
		{name: "add-note", operation: "add-note", setup: has(order, anOrder), fields: map[string]string{"text": "ring twice"}, effect: read("/v1/orders/o-1", "contentVersion")},
		{name: "set-address", operation: "set-address", setup: has(order, anOrder), fields: map[string]string{"kind": "shipping", "lines": "street=1 Main Street\ncity = X"}, effect: read("/v1/orders/o-1", "contentVersion")},
		{name: "set-own", operation: "set-own", setup: has(order, anOrder), fields: map[string]string{"name": "shelf", "value": `{"N":"7"}`}, effect: read("/v1/orders/o-1", "contentVersion")},
		{name: "remove-own", operation: "set-own", setup: has(map[string]string{"order": "o-1", "name": "shelf"}, anOrder), effect: read("/v1/orders/o-1", "contentVersion")},
		{name: "schedule", operation: "schedule-transition", setup: has(order, anOrder), fields: map[string]string{"event": "hold", "at": inDays(1)}, effect: later},
		{name: "move-scheduled", operation: "move-scheduled-transition", setup: aRequestForLater, fields: map[string]string{"at": inDays(2)}, effect: later, unmarked: true},
		{name: "withdraw-scheduled", operation: "withdraw-scheduled-transition", setup: aRequestForLater, effect: later, unmarked: true},
		{name: "resend", operation: "resend", setup: has(map[string]string{"order": "o-1", "transition": "2", "endpoint": "shop"}, anOrder, func(s *apiServer) { missedDelivery(s) }), effect: read("/v1/orders/o-1/deliveries", "deliveries")},
		{name: "redrive-letter", operation: "redrive-dead-letter", change: notifies, setup: aLetter, effect: func(s *apiServer) string {
			return fmt.Sprint(strings.Contains(s.ask("GET", "/v1/dead-letters/notify", "").text, "queuedAt"))
		}},
		{name: "discard-letter", operation: "discard-dead-letter", change: notifies, setup: aLetter, effect: read("/v1/dead-letters/notify", "letters")},
		{name: "complete-task", operation: "complete-parked-task", setup: has(task, waits), effect: tasks},
		{name: "fail-task", operation: "fail-parked-task-with-error", setup: has(task, waits), fields: map[string]string{"error": "Order.Lost"}, effect: tasks},
		{name: "refund", operation: "refund-payment", setup: has(map[string]string{"payment": "p-1"}, refundable), fields: map[string]string{"amount": "100"}, effect: read("/v1/payments/p-1", "refunded")},
		{name: "void", operation: "void-payment", setup: has(map[string]string{"payment": "p-1"}, func(s *apiServer) { s.authorize("p-1") }), effect: read("/v1/payments/p-1", "state")},
		{name: "create-endpoint", operation: "create-endpoint", setup: has(nil), fields: map[string]string{"endpoint": "new", "destination": "https://shop.example/hooks"}, effect: read("/v1/endpoints/new"), foreign: true},
		{name: "test-endpoint", operation: "test-endpoint", setup: has(endpoint, anEndpointOf)},
		{name: "disable-endpoint", operation: "disable-endpoint", setup: has(endpoint, anEndpointOf), effect: read("/v1/endpoints/shop", "status")},
		{name: "enable-endpoint", operation: "enable-endpoint", setup: has(endpoint, anEndpointOf, func(s *apiServer) { s.must("POST", "/v1/endpoints/shop/disable", "") }), effect: read("/v1/endpoints/shop", "status")},
		{name: "rotate-endpoint", operation: "rotate-endpoint-secret", setup: has(endpoint, func(s *apiServer) {
			s.must("PUT", "/v1/endpoints/shop", `{"destination":"https://shop.example/hooks"}`)
		})},
		{name: "pause-handler", operation: "pause-handler", change: notifies, setup: has(handler), effect: paused},
		{name: "resume-handler", operation: "resume-handler", change: notifies, setup: has(handler, func(s *apiServer) { s.must("POST", "/v1/stream/handlers/notify/pause", "") }), effect: paused},
		{name: "redrive-execution", operation: "redrive-execution", setup: has(order, anExecution), effect: read("/v1/orders/o-1/explanation", "unplaced", "execution", "redrives")},
		{name: "repair-execution", operation: "repair-execution", setup: has(order, anExecution), effect: read("/v1/orders/o-1/explanation", "unplaced", "execution", "redrives")},
		{name: "book-again", operation: "book-shipment-again", change: func(c *api.Config) {
			c.BookAgain = func(_ context.Context, id transitions.OrderID) (string, error) {
				if id == "o-1" {
					booked.Add(1)
				}

				return "trk-2", nil
			}
		}, setup: has(order, anOrder), effect: func(*apiServer) string { return fmt.Sprint(booked.Load()) }, foreign: true},
		{name: "executions-redrive", operation: "create-job", setup: has(real), effect: aJobOf("executions-redrive"), foreign: true},
		{name: "dead-letters-redrive", operation: "create-job", change: notifies, setup: has(real), fields: handler, effect: aJobOf("dead-letters-redrive")},
		{name: "dead-letters-discard", operation: "create-job", change: notifies, setup: has(real), fields: handler, effect: aJobOf("dead-letters-discard")},
		{name: "deliveries-resend", operation: "create-job", setup: has(real), fields: map[string]string{"endpoint": "shop"}, effect: aJobOf("deliveries-resend"), foreign: true},
		{name: "orders-erase", operation: "create-job", setup: has(real), fields: map[string]string{"endedBefore": "2020-01-01T00:00"}, effect: aJobOf("orders-erase"), foreign: true},
		{name: "streams-replay", operation: "create-job", change: notifies, setup: has(real), fields: handler, effect: aJobOf("streams-replay")},
		{name: "streams-refill", operation: "create-job", change: notifies, setup: has(real), effect: aJobOf("streams-refill")},
		{name: "lists-rebuild", operation: "create-job", change: withLists, setup: has(real), effect: aJobOf("lists-rebuild")},
		{name: "orders-migrate", operation: "create-job", setup: has(real), fields: map[string]string{"mapping": "migrations: []"}, effect: aJobOf("orders-migrate")},
		{name: "pause-job", operation: "pause-job", setup: anOpenJob, effect: stateOfJob},
		{name: "resume-job", operation: "resume-job", setup: func(s *apiServer) map[string]string {
			job := anOpenJob(s)
			s.must("POST", "/v1/jobs/"+job["job"]+"/pause", "")

			return job
		}, effect: stateOfJob},
		{name: "stop-job", operation: "stop-job", setup: anOpenJob, effect: stateOfJob},
		{name: "verify", operation: "ask-question", setup: has(nil), effect: read("/v1/questions/verify", "askedAt"), foreign: true},
		{name: "survey", operation: "ask-question", setup: has(nil), effect: read("/v1/questions/survey", "askedAt"), foreign: true},
		{name: "unsettled", operation: "ask-question", setup: has(nil), effect: read("/v1/questions/unsettled", "askedAt"), foreign: true},
		{name: "doctor", operation: "ask-question", setup: has(nil), effect: read("/v1/questions/doctor", "askedAt")},
		{name: "plan", operation: "ask-question", setup: has(nil), effect: read("/v1/questions/plan", "askedAt")},
		{name: "erase", operation: "erase-order", setup: has(order, func(s *apiServer) { erasable(s) }), effect: read("/v1/orders/o-1", "customer")},
	}
}

// TestEachActOfTheConsole: its form with its commands, its effect, its row in the audit, its repeat, and its refusal by
// scope, tenant, reason and confirmation.
func TestEachActOfTheConsole(t *testing.T) {
	for i, row := range actCases() {
		if testing.Short() && i%5 > 0 {
			continue // one client, and every act
		}

		t.Run(row.name, func(t *testing.T) {
			s := newAPIServer(t, func(c *api.Config) {
				forPages(c)

				if row.change != nil {
					row.change(c)
				}
			})
			query := url.Values{}
			for name, value := range row.setup(s) {
				query.Set(name, value)
			}
			p := s.pages()
			path := console.Path + "/act/" + row.name

			if row.effect == nil {
				row.effect = ownActs
			}
			before := row.effect(s)
			unchanged := func(about string) {
				t.Helper()

				if now := row.effect(s); now != before {
					t.Errorf("%s: it has changed from %s to %s", about, before, now)
				}
			}

			admin := whose(auth.DefaultTenant, auth.Admin)

			page := p.send(admin, "GET", path+"?"+query.Encode(), nil)
			if page.StatusCode != http.StatusOK || !strings.Contains(page.text, `name="reason"`) || !strings.Contains(page.text, "curl -X") || !strings.Contains(page.text, "ratchet ") {
				t.Fatalf("the form: %d %s", page.StatusCode, page.text)
			}

			form := filled(formOn(page), row.fields)
			if strings.Contains(page.text, `name="confirm"`) {
				form.Set("confirm", regexp.MustCompile(`Type (\S+) to confirm`).FindStringSubmatch(page.text)[1])
			}

			// Without a reason, or with one that the audit does not take.
			for _, reason := range []string{"", "  ", strings.Repeat("é", 81), "a\x00b"} {
				if a := p.send(admin, "POST", path, filled(form, map[string]string{"reason": reason})); a.StatusCode != http.StatusUnprocessableEntity {
					t.Errorf("the reason %q: %d", reason, a.StatusCode)
				}
			}
			form.Set("reason", "the customer has called")

			if confirm := form.Get("confirm"); confirm != "" {
				form.Set("confirm", "yes")

				if a := p.send(admin, "POST", path, form); a.StatusCode != http.StatusUnprocessableEntity {
					t.Errorf("not confirmed: %d", a.StatusCode)
				}
				form.Set("confirm", confirm)
			}
			unchanged("a form that is not complete")

			// By scope and tenant.
			weaker := auth.Act
			if a := p.send(whose(auth.DefaultTenant, auth.Act), "POST", path, filled(url.Values{}, nil)); a.StatusCode == http.StatusOK {
				t.Errorf("an empty form: %d", a.StatusCode)
			}

			if strings.Contains("apply change-item remove-item add-item add-note set-address set-own remove-own refund void schedule move-scheduled withdraw-scheduled", row.name) {
				weaker = auth.Read
			}

			if a := p.send(whose(auth.DefaultTenant, weaker), "POST", path, form); a.StatusCode != http.StatusForbidden {
				t.Errorf("with the scope %s: %d", weaker, a.StatusCode)
			}
			unchanged("another scope")

			if a := p.send(whose("other", auth.Admin), "POST", path, form); a.StatusCode < http.StatusBadRequest && !row.foreign {
				t.Errorf("another tenant: %d %s", a.StatusCode, a.text)
			}
			unchanged("another tenant")

			// It is done once, however often the form is sent.
			a := p.send(admin, "POST", path, form)
			// A worker does what a job is about later.
			said := "Done."
			if row.operation == "create-job" {
				said = "Stored."
			}

			if a.StatusCode != http.StatusOK || !strings.Contains(a.text, said) {
				t.Fatalf("%d %s", a.StatusCode, a.text)
			}

			after := row.effect(s)
			if after == before {
				t.Errorf("it has no effect: %s", after)
			}

			again := p.send(admin, "POST", path, form)
			if again.StatusCode != http.StatusOK || !row.unmarked && !strings.Contains(again.text, "It was done before") {
				t.Errorf("repeated: %d %s", again.StatusCode, again.text)
			}

			if now := row.effect(s); now != after && !strings.HasPrefix(row.operation, "test-") && row.operation != "rotate-endpoint-secret" {
				t.Errorf("the repeat has changed it from %s to %s", after, now)
			}

			// A secret is on the page of the act, and of its repeat, and on no other.
			if secret := strings.Contains(a.text, "whsec_"); secret != (row.name == "create-endpoint" || row.name == "rotate-endpoint") || secret && strings.Count(a.text, "whsec_") != 1 {
				t.Errorf("the page has %d secrets", strings.Count(a.text, "whsec_"))
			}

			if secret := regexp.MustCompile(`whsec_[^<]+`); secret.FindString(a.text) != secret.FindString(again.text) {
				t.Error("the repeat has made another secret")
			}

			done := 0
			for _, e := range s.acts() {
				if e.Act == row.operation && e.Via == "console" && e.Reason == "the customer has called" && e.Who == "oidc:ann" && e.Result == "done" && e.Tenant == "" {
					done++
				}
			}

			if done != 2 {
				t.Errorf("the audit has the act %d times: %+v", done, s.acts())
			}
		})
	}
}

// TestTwoPeopleActOnOneOrder: the second one acts on an order that is not the one on the form any more, and learns it.
func TestTwoPeopleActOnOneOrder(t *testing.T) {
	s := newAPIServer(t, forPages)
	anOrder(s)
	p := s.pages()
	ann, bob := whose(auth.DefaultTenant, auth.Act), whose(auth.DefaultTenant, auth.Act)
	bob.ID = "oidc:bob"

	form := func(by api.Identity, event string) url.Values {
		t.Helper()

		page := p.send(by, "GET", console.Path+"/act/apply?order=o-1&event="+event, nil)
		values := filled(formOn(page), map[string]string{"reason": "asked to"})
		if strings.Contains(page.text, `name="confirm"`) {
			values.Set("confirm", "o-1")
		}

		return values
	}
	hers, his := form(ann, "hold"), form(bob, "cancel")

	if a := p.send(ann, "POST", console.Path+"/act/apply", hers); !strings.Contains(a.text, "Done.") {
		t.Fatalf("%d %s", a.StatusCode, a.text)
	}

	a := p.send(bob, "POST", console.Path+"/act/apply", his)
	if a.StatusCode != http.StatusPreconditionFailed || !strings.Contains(a.text, "The order is ON_HOLD now.") || !strings.Contains(a.text, "Nothing was done.") {
		t.Errorf("%d %s", a.StatusCode, a.text)
	}

	if state := read("/v1/orders/o-1", "state")(s); state != "ON_HOLD" {
		t.Errorf("it is %s", state)
	}

	// The form that he has got is about the order as it is.
	if a := p.send(bob, "POST", console.Path+"/act/apply", filled(formOn(a), map[string]string{"reason": "still", "confirm": "o-1"})); !strings.Contains(a.text, "Done.") {
		t.Errorf("%d %s", a.StatusCode, a.text)
	}

	// At the same time, one of many is done.
	s.must("PUT", "/v1/orders/o-2", mugs)

	var (
		group sync.WaitGroup
		done  atomic.Int64
	)
	for i := range 8 {
		by := whose(auth.DefaultTenant, auth.Act)
		by.ID = fmt.Sprintf("oidc:%d", i)
		page := p.send(by, "GET", console.Path+"/act/apply?order=o-2&event=hold", nil)

		group.Go(func() {
			if a := p.send(by, "POST", console.Path+"/act/apply", filled(formOn(page), map[string]string{"reason": "rush"})); strings.Contains(a.text, "Done.") {
				done.Add(1)
			}
		})
	}
	group.Wait()

	if transition := read("/v1/orders/o-2", "transitionId")(s); done.Load() != 1 || transition != "2" {
		t.Errorf("%d have done it, the order is at %s", done.Load(), transition)
	}
}

// TestAnActWhoseOutcomeIsUnknown is shown as that, and asking again tells it without a second effect: whether the request was
// lost, or its answer.
func TestAnActWhoseOutcomeIsUnknown(t *testing.T) {
	for lost, then := range map[string]string{"before": "Done.", "after": "It was done before"} {
		t.Run(lost, func(t *testing.T) {
			s := newAPIServer(t, forPages)
			anOrder(s)
			refundable(s)
			p := s.pages()
			ann := whose(auth.DefaultTenant, auth.Act)

			for path, row := range map[string]struct {
				more   map[string]string
				effect func(*apiServer) string
				want   string
			}{
				"/act/apply?order=o-1&event=hold": {nil, read("/v1/orders/o-1", "transitionId"), "2"},
				"/act/refund?payment=p-1":         {map[string]string{"amount": "100", "confirm": "p-1"}, read("/v1/payments/p-1", "refunded"), "100"},
			} {
				form := filled(formOn(p.send(ann, "GET", console.Path+path, nil)), map[string]string{"reason": "asked to"})
				path, _, _ = strings.Cut(path, "?")

				p.lose.Store(lost)
				unknown := p.send(ann, "POST", console.Path+path, filled(form, row.more))
				p.lose.Store("")

				if unknown.StatusCode != http.StatusAccepted || !strings.Contains(unknown.text, "It is not known whether this was done.") || !strings.Contains(unknown.text, "Ask again") || strings.Contains(unknown.text, "Done.") {
					t.Fatalf("%s: %d %s", path, unknown.StatusCode, unknown.text)
				}

				for _, want := range []string{then, "It was done before"} {
					if a := p.send(ann, "POST", console.Path+path, formOn(unknown)); a.StatusCode != http.StatusOK || !strings.Contains(a.text, want) {
						t.Errorf("%s: %d %s", path, a.StatusCode, a.text)
					}
				}

				if got := row.effect(s); got != row.want {
					t.Errorf("%s: the effect is %s, want %s", path, got, row.want)
				}
			}
		})
	}
}

// TestAPageShowsWhatIsRequestedForLater: what waits with its buttons, by scope, what has ended without them, and what the form says before
// it is done.
func TestAPageShowsWhatIsRequestedForLater(t *testing.T) {
	s := newAPIServer(t, forPages)
	given := aRequestForLater(s)
	p := s.pages()
	look := func(scope auth.Scope, path string) string {
		t.Helper()

		page := p.send(whose(auth.DefaultTenant, scope), "GET", console.Path+path, nil)
		if page.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", path, page.StatusCode, page.text)
		}

		return page.text
	}

	for scope, may := range map[auth.Scope]bool{auth.Read: false, auth.Act: true} {
		text := look(scope, "/orders/o-1")
		for _, name := range []string{"schedule?", "move-scheduled?", "withdraw-scheduled?"} {
			if strings.Contains(text, "/act/"+name) != may {
				t.Errorf("%s: the button %s: %t", scope, name, !may)
			}
		}

		if !strings.Contains(text, "Requested for later") || !strings.Contains(text, "<code>cancel</code>") || !strings.Contains(text, "pending") {
			t.Errorf("%s: %s", scope, text)
		}
	}

	for _, row := range []struct{ path, want string }{
		{"/act/schedule?order=o-1&event=hold", "It is judged at its time. If that were now:"},
		{"/act/schedule?order=o-1&event=hold", "The order goes from PENDING to ON_HOLD."},
		{"/act/schedule?order=o-1&event=ship", "It would be refused now"},
		// An event that ends the order asks for a confirmation, and so does a withdrawal.
		{"/act/schedule?order=o-1&event=cancel", "Type o-1 to confirm"},
		{"/act/withdraw-scheduled?order=o-1&scheduled=" + given["scheduled"], "Type " + given["scheduled"] + " to confirm"},
		{"/act/withdraw-scheduled?order=o-1&scheduled=" + given["scheduled"], "It requests cancel at"},
		{"/act/move-scheduled?order=o-1&scheduled=" + given["scheduled"] + "&at=2027-01-15T08:00", "ratchet orders scheduled move o-1 " + given["scheduled"] + " --to 2027-01-15T08:00:00Z"},
		{"/act/schedule?order=o-1&event=hold&at=2027-01-15T08:00", "--at 2027-01-15T08:00:00Z"},
	} {
		if text := html.UnescapeString(look(auth.Act, row.path)); !strings.Contains(text, row.want) {
			t.Errorf("%s lacks %q: %s", row.path, row.want, text)
		}
	}

	form := filled(formOn(p.send(whose(auth.DefaultTenant, auth.Act), "GET", console.Path+"/act/schedule?order=o-1", nil)), map[string]string{"reason": "asked to", "event": "hold", "at": "tomorrow"})
	if a := p.send(whose(auth.DefaultTenant, auth.Act), "POST", console.Path+"/act/schedule", form); a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.text, "When: a time") {
		t.Errorf("%d %s", a.StatusCode, a.text)
	}

	s.must("DELETE", "/v1/orders/o-1/scheduled/"+given["scheduled"], "")

	if text := look(auth.Act, "/orders/o-1"); strings.Contains(text, "/act/move-scheduled") || !strings.Contains(text, "withdrawn") {
		t.Errorf("withdrawn: %s", text)
	}
}

// TestTheButtonsOfAnOrder: a page has the buttons that the definition, the order's state and the scope allow.
func TestTheButtonsOfAnOrder(t *testing.T) {
	s := newAPIServer(t, forPages)
	anOrder(s)
	p := s.pages()

	for scope, row := range map[auth.Scope]struct{ has, hasNot []string }{
		auth.Read:  {nil, []string{"/act/"}},
		auth.Act:   {[]string{"event=hold", "event=cancel", "/act/add-note", "/act/change-item?order=o-1&amp;price="}, []string{"event=release", "event=ship", "/act/repair-execution", "/act/erase"}},
		auth.Admin: {[]string{"event=hold", "/act/repair-execution", "/act/streams-replay?ids=o-1"}, []string{"event=release", "/act/erase"}},
	} {
		page := p.send(whose(auth.DefaultTenant, scope), "GET", console.Path+"/orders/o-1", nil)
		for _, text := range row.has {
			if !strings.Contains(page.text, text) {
				t.Errorf("%s lacks %s", scope, text)
			}
		}

		for _, text := range row.hasNot {
			if strings.Contains(page.text, text) {
				t.Errorf("%s has %s", scope, text)
			}
		}
	}

	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"hold"}`, "Idempotency-Key", "h")

	if page := p.send(whose(auth.DefaultTenant, auth.Act), "GET", console.Path+"/orders/o-1", nil); !strings.Contains(page.text, "event=release") || strings.Contains(page.text, "event=hold") {
		t.Errorf("on hold: %s", page.text)
	}

	// What an event would do, before it is done.
	if page := p.send(whose(auth.DefaultTenant, auth.Act), "GET", console.Path+"/act/apply?order=o-1&event=release", nil); !strings.Contains(page.text, "The order goes from ON_HOLD to PENDING.") {
		t.Errorf("the preview: %s", page.text)
	}

	if page := p.send(whose(auth.DefaultTenant, auth.Act), "GET", console.Path+"/act/apply?order=o-1&event=ship", nil); !strings.Contains(page.text, "It would be refused now") {
		t.Errorf("the preview of a refusal: %s", page.text)
	}
}
