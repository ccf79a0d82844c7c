package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"ratchet/activities/tasktoken"
	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/transitions"
)

// long returns an id of the longest kind that begins with a letter.
func long(letter string, length int) string {
	return letter + "." + strings.Repeat("x", length-3) + "9"
}

// readable are the GET paths of an id, by the name of the member that hands it out. %s is the id, and
// {account} the account of the same body.
var readable = map[string][]string{
	"orderId": {"/v1/orders/%s", "/v1/orders/%s/transitions", "/v1/orders/%s/explanation", "/v1/orders/%s/parked-tasks", "/v1/orders/%s/deliveries"},

	"sku":        {"/v1/inventory/%s"},
	"paymentId":  {"/v1/payments/%s"},
	"transferId": {"/v1/transfers/%s"},
	"accountId":  {"/v1/accounts/%s", "/v1/accounts/%s/entries"},
	"account":    {"/v1/accounts/%s", "/v1/accounts/%s/entries"},
	"payer":      {"/v1/accounts/%s", "/v1/accounts/%s/entries"},
	"payee":      {"/v1/accounts/%s", "/v1/accounts/%s/entries"},
	"hold":       {"/v1/accounts/{account}/holds/%s"},
	"holdId":     {"/v1/accounts/{accountId}/holds/%s"},
	"endpoint":   {"/v1/endpoints/%s", "/v1/endpoints/%s/deliveries"},
}

// writable are the parameters of paths without a GET that take an id, by the member that hands it out.
var writable = map[string]string{"ref": "ref", "parcel": "parcelId", "awaited": "state", "handler": "handler"}

// TestEveryIDThatTheAPIHandsOutHasItsPath: also the longest ids, of the tenant with the longest name, and the
// ids that the server makes itself.
func TestEveryIDThatTheAPIHandsOutHasItsPath(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every operation")
	}

	s := newAPIServer(t, nil)
	const tenant = "a-tenant-of-20-chars"
	bearer := s.key(auth.Tenant(tenant), auth.Admin)
	must := func(method, path, body string, headers ...string) answer {
		t.Helper()

		a := s.ask(method, path, body, append(headers, "Authorization", bearer)...)
		if a.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, a.text)
		}

		return a
	}
	check := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	order, sku, account, bank := long("o", 96), long("s", 96), long("a", 64), long("b", 64)
	hold, transfer, payment, endpoint := long("h", 64), long("t", 64), long("p", 60), strings.ReplaceAll(long("e", 64), ".", "-")
	stored := func(id string) string { return tenant + ":" + id }

	must("PUT", "/v1/inventory/"+sku, `{"available":100}`)
	must("PUT", "/v1/orders/"+order, fmt.Sprintf(`{"items":[{"sku":%q,"quantity":1,"price":5}],"total":{"amount":5,"currency":"EUR"}}`, sku))
	must("POST", "/v1/orders/"+order+"/transitions", `{"event":"pay"}`, "Idempotency-Key", "pay")
	must("PUT", "/v1/accounts/"+bank, `{"currency":"EUR","overdraft":true}`)
	must("PUT", "/v1/accounts/"+account, `{"currency":"EUR"}`)
	must("PUT", "/v1/accounts/"+bank+"/holds/"+hold, `{"amount":5,"currency":"EUR"}`)
	must("PUT", "/v1/transfers/"+transfer, fmt.Sprintf(`{"currency":"EUR","legs":[{"account":%q,"amount":-5,"hold":%q},{"account":%q,"amount":5}]}`, bank, hold, account))
	must("PUT", "/v1/payments/"+payment, fmt.Sprintf(`{"orderId":%q,"payer":%q,"payee":%q,"amount":9,"currency":"EUR"}`, order, bank, account))
	must("PUT", "/v1/payments/"+payment+"/captures/"+long("c", 36), `{"amount":9}`)
	must("PUT", "/v1/payments/"+payment+"/refunds/"+long("r", 36), `{"amount":4}`)
	must("PUT", "/v1/endpoints/"+endpoint, `{"destination":"https://example.com/hook"}`)

	// What the server makes itself: the payment and the reservation of the order, a waiting task, a report.
	o, _, err := s.cfg.Orders.Get(t.Context(), transitions.OrderID(stored(order)))
	check(err)
	_, err = s.cfg.Payments.Authorize(t.Context(), payments.NewPayment{
		ID: payments.IDForOrder(o.LifeID()), OrderID: string(o.ID), Payer: stored(bank), Payee: stored(account), Amount: 3, Currency: "EUR",
	})
	check(err)
	_, _, err = s.cfg.Ledger.CreateAccount(t.Context(), ledger.NewAccount{ID: stored(account) + ".suspense.100", Currency: "EUR"})
	check(err)
	check(s.cfg.Stock.Reserve(t.Context(), o.LifeID(), []inventory.Line{{SKU: stored(sku), Quantity: 1}}))
	s.park(tasktoken.Task{OrderID: string(o.ID), Awaited: "Half-Way_2", Token: "token"})
	s.want(s.callbackTo("/v1/callbacks/carrier", "rep_1", reported(string(o.ID), "returned"), nil), http.StatusOK, "")

	document, err := api.OpenAPI()
	check(err)

	rules := parameterRules(t, document)
	asked := map[string]int{}

	var walk func(from string, v any)
	walk = func(from string, v any) {
		switch v := v.(type) {
		case []any:
			for _, each := range v {
				walk(from, each)
			}
		case map[string]any:
			for name, member := range v {
				id, isText := member.(string)
				if !isText {
					walk(from, member)
					continue
				}

				paths := readable[name]
				if strings.HasPrefix(from, "/v1/endpoints") && name == "id" {
					paths = readable["endpoint"]
				}

				if strings.Contains(from, "/reservations/") && name == "orderId" {
					paths = []string{"/v1/reservations/%s"}
				}

				for _, path := range paths {
					asked[path]++

					for _, beside := range []string{"account", "accountId"} {
						if of, is := v[beside].(string); is {
							path = strings.ReplaceAll(path, "{"+beside+"}", url.PathEscape(of))
						}
					}

					path = fmt.Sprintf(path, url.PathEscape(id))
					if a := s.ask("GET", path, "", "Authorization", bearer); a.StatusCode != http.StatusOK {
						t.Errorf("%s hands out %s %q: GET %s: %d %s", from, name, id, path, a.StatusCode, a.text)
					}
				}

				for _, r := range rules[writable[name]] {
					asked[name]++

					if !r.MatchString(id) || len(id) > r.most {
						t.Errorf("%s hands out %s %q, and a path takes at most %d of %s", from, name, id, r.most, r)
					}
				}
			}
		}
	}

	_, life, _ := strings.Cut(o.LifeID(), ":")
	reservation := "/v1/reservations/" + life

	for _, path := range []string{
		"/v1/orders", "/v1/orders/" + order, "/v1/orders/" + order + "/explanation", "/v1/orders/" + order + "/deliveries",
		"/v1/orders/" + order + "/parked-tasks", "/v1/parked-tasks",
		"/v1/inventory/" + sku, reservation, "/v1/payments", "/v1/payments/" + payment, "/v1/accounts", "/v1/accounts/" + bank,
		"/v1/accounts/" + bank + "/entries", "/v1/accounts/" + account + "/entries", "/v1/accounts/" + bank + "/holds/" + hold,
		"/v1/transfers/" + transfer, "/v1/transfers/" + url.PathEscape(payment+"/"+long("c", 36)+"#payment"), "/v1/endpoints", "/v1/endpoints/" + endpoint,
		"/v1/callbacks/carrier/reports", "/v1/callbacks/carrier/reports?effect=attention", "/v1/callbacks/carrier/reports?effect=refused",
		"/v1/callbacks/payments/parked", "/v1/audit",
	} {
		var body any
		a := must("GET", path, "")
		a.read(t, &body)
		walk(path, body)

		// A report has the id that its carrier gave it.
		if !strings.HasSuffix(path, "/reports") && strings.Contains(a.text, tenant+":") {
			t.Errorf("%s shows a stored id: %s", path, a.text)
		}
	}

	// Every kind of id was met.
	for _, paths := range readable {
		for _, path := range paths {
			if asked[path] == 0 {
				t.Errorf("no answer has an id for %s", path)
			}
		}
	}

	if asked["awaited"] == 0 || asked["ref"] == 0 {
		t.Errorf("no answer has the awaited state of a task, or a report: %v", asked)
	}
}

// rule is the rule of a parameter in a path.
type rule struct {
	*regexp.Regexp
	most int
}

// parameterRules returns the rules of the parameters of all paths, by name.
func parameterRules(t *testing.T, document []byte) map[string][]rule {
	t.Helper()

	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   struct {
					Pattern   string
					MaxLength int
				}
			}
		}
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}

	rules := map[string][]rule{}
	for _, operations := range doc.Paths {
		for _, operation := range operations {
			for _, p := range operation.Parameters {
				if p.In == "path" && p.Schema.Pattern != "" {
					rules[p.Name] = append(rules[p.Name], rule{regexp.MustCompile(p.Schema.Pattern), p.Schema.MaxLength})
				}
			}
		}
	}

	return rules
}
