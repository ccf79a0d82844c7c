package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"ratchet/api/auth"
)

// ownOf returns the own attributes in the body of an answer, as JSON.
func ownOf(t *testing.T, a answer) string {
	t.Helper()

	var body struct {
		Own   json.RawMessage
		Order struct{ Own json.RawMessage }
	}
	if err := json.Unmarshal([]byte(a.text), &body); err != nil {
		t.Fatal(err, a.text)
	}

	return string(body.Own) + string(body.Order.Own)
}

// Own attributes are placed, changed with a transition and by an edit, and come back on the order.
func TestOwnAttributesOverHTTP(t *testing.T) {
	s := newAPIServer(t, dev)

	placed := s.must("PUT", "/v1/orders/o-1", strings.TrimSuffix(mugs, "}")+`,"own":{"a b":{"S":"x"},"l":{"L":[{"M":{"n":{"NS":["1","2.5"]}}},{"NULL":true}]}}}`)
	if own := ownOf(t, placed); own != `{"a b":{"S":"x"},"l":{"L":[{"M":{"n":{"NS":["1","2.5"]}}},{"NULL":true}]}}` {
		t.Errorf("placed with %s", own)
	}

	edit := `{"own":{"set":{"n":{"N":"3"},"b":{"B":"AA=="}},"remove":["l"],"if":{"equals":{"a b":{"S":"x"}},"exists":["l"],"missing":["n"]}}}`
	for range 2 { // the second time, the conditions do not hold any more
		edited := s.ask("POST", "/v1/orders/o-1/own", edit, "Idempotency-Key", "e-1")
		if edited.StatusCode != http.StatusOK {
			t.Fatal(edited.StatusCode, edited.text)
		}
	}

	pay := `{"event":"pay","own":{"set":{"n":{"N":"4"}},"if":{"equals":{"n":{"N":"3"}}}}}`
	for range 2 {
		paid := s.must("POST", "/v1/orders/o-1/transitions", pay, "Idempotency-Key", "p")
		if own := ownOf(t, paid); own != `{"a b":{"S":"x"},"b":{"B":"AA=="},"n":{"N":"4"}}` {
			t.Errorf("paid with %s", own)
		}
	}

	for _, row := range []struct {
		body, key, code, detail string
		status                  int
	}{
		{`{"event":"pay","own":{"set":{"n":{"N":"5"}}}}`, "p", "idempotency_key_reused", "", http.StatusConflict},
		{`{"event":"ship","own":{"if":{"equals":{"n":{"N":"5"}}}}}`, "s", "wrong_state", `Prevented by: own attribute "n" has another value than the request needs`, http.StatusConflict},
	} {
		a := s.ask("POST", "/v1/orders/o-1/transitions", row.body, "Idempotency-Key", row.key)
		if a.StatusCode != row.status || !strings.Contains(a.text, `"`+row.code+`"`) || !strings.Contains(a.text, strings.ReplaceAll(row.detail, `"`, `\"`)) {
			t.Errorf("%s: %d %s", row.body, a.StatusCode, a.text)
		}
	}

	ungranted := person(auth.DefaultTenant, auth.Admin)
	if a := s.as(ungranted, "GET", "/v1/orders/o-1", ""); ownOf(t, a) != `{"[masked]":{"S":"[masked]"}}` {
		t.Errorf("without the grant: %s", a.text)
	}
}

// A value that breaks a rule is refused at its place, whether the schema or the code knows the rule.
func TestOwnAttributesAreRefusedAtTheirPlace(t *testing.T) {
	s := newAPIServer(t, dev)
	s.must("PUT", "/v1/orders/o-1", mugs)

	long := strings.Repeat("é", 255)
	for own, pointer := range map[string]string{
		`{"set":{"a":{}}}`:                                         "/own/set/a",
		`{"set":{"a":{"S":"x","N":"1"}}}`:                          "/own/set/a",
		`{"set":{"a":{"X":"x"}}}`:                                  "/own/set/a/X",
		`{"set":{"a":"x"}}`:                                        "/own/set/a",
		`{"set":{"a":{"S":1}}}`:                                    "/own/set/a/S",
		`{"set":{"a":{"N":"01"}}}`:                                 "/own/set/a/N",
		`{"set":{"a":{"N":"1e3"}}}`:                                "/own/set/a/N",
		`{"set":{"a":{"B":"AB=="}}}`:                               "/own/set/a/B",
		`{"set":{"a":{"NULL":false}}}`:                             "/own/set/a/NULL",
		`{"set":{"a":{"NULL":null}}}`:                              "/own/set/a/NULL",
		`{"set":{"a":{"SS":[]}}}`:                                  "/own/set/a/SS",
		`{"set":{"a":{"SS":["x","x"]}}}`:                           "/own/set/a/SS",
		`{"set":{"a":{"NS":["1","1.0"]}}}`:                         "/own/set/a/NS/1",
		`{"set":{"a":{"BS":["AA==","A"]}}}`:                        "/own/set/a/BS/1",
		`{"set":{"a":{"L":[{"M":{"b":{"BOOL":"x"}}}]}}}`:           "/own/set/a/L/0/M/b/BOOL",
		`{"set":{"a":{"M":{"":{"S":""}}}}}`:                        "/own/set/a/M/",
		`{"set":{"total":{"S":""}}}`:                               "/own/set/total",
		`{"set":{"a\u0001":{"S":""}}}`:                             "/own/set/a\\u0001",
		`{"set":{"` + long + `e":{"S":""}}}`:                       "/own/set/" + long + "e",
		`{"remove":["orderState"]}`:                                "/own/remove/0",
		`{"remove":[""]}`:                                          "/own/remove/0",
		`{"remove":["a","a"]}`:                                     "/own/remove/1",
		`{"set":{"a":{"S":""}},"remove":["a"]}`:                    "/own/remove/0",
		`{"if":{"exists":["orderId"]}}`:                            "/own/if/exists/0",
		`{"if":{"equals":{"a":{"N":"x"}}}}`:                        "/own/if/equals/a/N",
		`{"if":{"more":[]}}`:                                       "/own/if/more",
		`{"more":[]}`:                                              "/own/more",
		`{"set":{"a":{"S":"` + strings.Repeat("x", 70000) + `"}}}`: "/own",
	} {
		for _, route := range [][3]string{
			{"POST", "/v1/orders/o-1/transitions", `{"event":"pay","own":` + own + `}`},
			{"POST", "/v1/orders/o-1/own", `{"own":` + own + `}`},
		} {
			a := s.ask(route[0], route[1], route[2], "Idempotency-Key", "k")
			if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.text, `"pointer":"`+pointer+`"`) {
				t.Errorf("%s %.100s: %d %s, want %s", route[1], own, a.StatusCode, a.text, pointer)
			}
		}
	}

	a := s.ask("PUT", "/v1/orders/o-2", strings.TrimSuffix(mugs, "}")+`,"own":{"total":{"S":"x"}}}`)
	if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.text, `"pointer":"/own/total"`) {
		t.Errorf("placed with a name of Ratchet's: %d %s", a.StatusCode, a.text)
	}

	fits := `{"own":{"set":{"` + long + `":{"SS":["","x"]},"e":{"M":{}},"f":{"L":[]},"g":{"B":""}}}}`
	if a := s.ask("POST", "/v1/orders/o-1/own", fits, "Idempotency-Key", "k"); a.StatusCode != http.StatusOK {
		t.Errorf("what has the form: %d %s", a.StatusCode, a.text)
	}
}

// TestItemsOfAnotherTypeAreRefused: objects and lists where a list has texts, in each list whose items must differ, and
// items that are equal.
func TestItemsOfAnotherTypeAreRefused(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", `{"total":{"amount":1,"currency":"EUR"}}`), http.StatusCreated, "")

	for _, own := range []string{
		`{"set":{"a":{"SS":[{}]}}}`, `{"set":{"a":{"NS":[[]]}}}`, `{"set":{"a":{"L":[{"BS":[{"x":1}]}]}}}`, `{"set":{"a":{"M":{"b":{"SS":[{},{}]}}}}}`,
		`{"remove":[{}]}`, `{"remove":[["a"]]}`, `{"if":{"exists":[{}]}}`, `{"if":{"missing":[[]]}}`, `{"if":{"equals":{"a":{"SS":[{}]}}}}`,
		`{"set":{"a":{"SS":["x","x"]}}}`, `{"set":{"a":{"NS":["1","1"]}}}`, `{"set":{"a":{"BS":["AA==","AA=="]}}}`,
		`{"remove":["a","a"]}`, `{"if":{"exists":["a","a"]}}`, `{"if":{"missing":["a","a"]}}`, `{"if":{"equals":{"a":{"SS":["x","x"]}}}}`,
	} {
		s.want(s.ask("POST", "/v1/orders/o-1/own", `{"own":`+own+`}`, "Idempotency-Key", "k-"+own[:9]), http.StatusUnprocessableEntity, "invalid_request")
	}

	s.want(s.ask("PUT", "/v1/orders/o-2", `{"total":{"amount":1,"currency":"EUR"},"own":{"a":{"SS":[{}]}}}`), http.StatusUnprocessableEntity, "invalid_request")
}

// TestAHeaderWithoutAValueIsRefused, as a query parameter without one is.
func TestAHeaderWithoutAValueIsRefused(t *testing.T) {
	s := newAPIServer(t, dev)

	for _, name := range []string{"Prefer", "If-Match", "Last-Event-ID"} {
		s.want(s.ask("POST", "/v1/claims/refund-7", `{"payload":1,"leaseSeconds":60}`, name, ""), http.StatusUnprocessableEntity, "invalid_request")
	}
}
