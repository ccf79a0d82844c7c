//go:build browser

package browser

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"ratchet/api/auth"
	"ratchet/operate/audit"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
)

// formAct is an act, with the values that its button gives and those that a person fills in.
type formAct struct {
	name, query string
	fields      [][2]string
}

var formActs = []formAct{
	{"apply", "order=o-1&event=hold", nil},
	{"change-item", "order=o-1&sku=mug", [][2]string{{"quantity", "2"}, {"price", "5"}}},
	{"remove-item", "order=o-1&sku=pen", nil},
	{"add-item", "order=o-1", [][2]string{{"sku", "pen"}, {"quantity", "1"}, {"price", "2"}}},
	{"add-note", "order=o-1", [][2]string{{"text", "ring twice"}}},
	{"set-address", "order=o-1", [][2]string{{"kind", "shipping"}, {"lines", "street=1 Main Street"}}},
	{"set-own", "order=o-1", [][2]string{{"name", "shelf"}, {"value", "7"}}},
	{"remove-own", "order=o-1&name=shelf", nil},
	{"resend", "order=o-1&transition=2&endpoint=shop", nil},
	{"redrive-letter", "handler=notify&letter=bGV0dGVy", nil},
	{"discard-letter", "handler=notify&letter=bGV0dGVy", nil},
	{"complete-task", "order=o-1&state=SHIPPED", nil},
	{"fail-task", "order=o-1&state=SHIPPED", [][2]string{{"error", "Order.Lost"}}},
	{"refund", "payment=p-1", [][2]string{{"amount", "100"}}},
	{"void", "payment=p-1", nil},
	{"create-endpoint", "", [][2]string{{"endpoint", "shop"}, {"destination", "https://shop.example/hooks"}}},
	{"test-endpoint", "endpoint=shop", nil},
	{"disable-endpoint", "endpoint=shop", nil},
	{"enable-endpoint", "endpoint=shop", nil},
	{"rotate-endpoint", "endpoint=shop", nil},
	{"pause-handler", "handler=notify", nil},
	{"resume-handler", "handler=notify", nil},
	{"redrive-execution", "order=o-1", nil},
	{"repair-execution", "order=o-1", nil},
	{"book-again", "order=o-1", nil},
	{"executions-redrive", "", nil},
	{"dead-letters-redrive", "handler=notify", nil},
	{"dead-letters-discard", "handler=notify", nil},
	{"deliveries-resend", "", [][2]string{{"endpoint", "shop"}}},
	{"orders-erase", "", [][2]string{{"ids", "o-1"}}},
	{"streams-replay", "ids=o-1", nil},
	{"streams-refill", "", nil},
	{"lists-rebuild", "", nil},
	{"orders-migrate", "", [][2]string{{"mapping", "migrations: []"}}},
	{"pause-job", "job=20261128T151834.123-ABCDEFGHIJ", nil},
	{"resume-job", "job=20261128T151834.123-ABCDEFGHIJ", nil},
	{"stop-job", "job=20261128T151834.123-ABCDEFGHIJ", nil},
	{"doctor", "", nil},
	{"verify", "", nil},
	{"survey", "", nil},
	{"unsettled", "", nil},
	{"plan", "", nil},
	{"erase", "order=o-1", nil},
}

// TestEveryFormByMouseAndKeyboard: the form of each act can be filled in and sent by mouse, and by keyboard alone, under the
// policy of the pages. Each has left its act in the audit, with the reason, before the API has decided about it.
func TestEveryFormByMouseAndKeyboard(t *testing.T) {
	names := actNames(t)
	for _, a := range formActs {
		names = slices.DeleteFunc(names, func(name string) bool { return name == a.name })
	}

	if len(names) > 0 {
		t.Errorf("acts that are not tried: %v", names)
	}

	address, b := servedConsole(t)

	_, key, err := b.APIKeys.Create(t.Context(), auth.NewKey{Name: "me", Tenant: auth.DefaultTenant, Scope: auth.Admin, Personal: true})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := b.Orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 5}}, Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	accounts, err := payments.OpenOrderAccounts(t.Context(), b.Ledger, "EUR")
	if err == nil {
		_, err = b.Payments.Authorize(t.Context(), payments.NewPayment{ID: "p-1", OrderID: "o-1", Payer: accounts.Payer, Payee: accounts.Payee, Amount: 5, Currency: "EUR"})
	}

	if err != nil {
		t.Fatal(err)
	}
	page := openTab(t)

	page.open(address + "/console/orders")
	page.click("document.querySelector('input[name=key]')", 1)
	page.write(string(key))
	page.click(element("main button", "Log in"), 1)
	page.sees("Orders")

	for _, way := range []string{"mouse", "keyboard"} {
		for _, a := range formActs {
			page.fillIn(address, a, way)
			waitForAct(t, b, a.name+" by "+way)
		}
	}

	page.mu.Lock()
	defer page.mu.Unlock()

	if len(page.refused) > 0 {
		t.Errorf("refused, or failed: %v", page.refused)
	}
}

// fillIn opens the form of the act, and fills it in and sends it.
func (b *tab) fillIn(address string, a formAct, way string) {
	b.t.Helper()

	reach := b.tabTo
	if way == "mouse" {
		reach = func(element string) { b.t.Helper(); b.click(element, 1) }
	}
	field := func(name string) string {
		return "document.querySelector('form.act [name=" + name + "]:not([type=hidden])')"
	}

	b.open(address + "/console/act/" + a.name + "?" + a.query)
	b.until("location.pathname + location.search", "/console/act/"+a.name+map[bool]string{true: "?" + a.query}[a.query != ""])
	b.until("document.readyState === 'complete' && !!"+field("reason"), "true")

	for _, f := range a.fields {
		reach(field(f[0]))
		b.write(f[1])
	}
	reach(field("reason"))
	b.write(a.name + " by " + way)

	if b.look("!!"+field("confirm")) == "true" {
		subject := regexp.MustCompile(`Type (\S+) to confirm`).FindStringSubmatch(b.look("document.querySelector('form.act').innerText"))
		reach(field("confirm"))
		b.write(subject[1])
	}

	if way == "keyboard" {
		b.enter()
		return
	}
	b.click("document.querySelector('form.act button')", 1)
}

// waitForAct waits until the audit has an act with the reason, through the console.
func waitForAct(t *testing.T, b *server.Backend, reason string) {
	t.Helper()

	for began := time.Now(); time.Since(began) < patience/4; <-time.After(20 * time.Millisecond) {
		acts, _, err := b.Audit.List(t.Context(), audit.Filter{Since: time.Now().Add(-time.Hour)}, "", 1000)
		if err != nil {
			t.Fatal(err)
		}

		if slices.ContainsFunc(acts, func(e audit.Entry) bool { return e.Via == "console" && e.Reason == reason }) {
			return
		}
	}
	t.Errorf("the audit has no act %q", reason)
}

// actNames are the names of all acts, as the sources of the console have them.
func actNames(t *testing.T) (all []string) {
	t.Helper()

	for name, pattern := range map[string]string{"acts.go": `name: "([a-z-]+)", title: `, "jobs.go": `kind: "([a-z-]+)", title: `, "questions.go": `name: "([a-z-]+)", title: `} {
		text, err := os.ReadFile("../../console/" + name)
		if err != nil {
			t.Fatal(err)
		}

		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			all = append(all, found[1])
		}
	}

	return all
}
