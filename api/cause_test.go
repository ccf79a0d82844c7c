package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ratchet/api/auth"
	"ratchet/transitions"
	"ratchet/workflow"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestACauseNamesTheCaller: code and text come from the body, who and through what does not.
func TestACauseNamesTheCaller(t *testing.T) {
	s := newAPIServer(t, nil)
	token := s.key("default", auth.Act)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", token), http.StatusCreated, "")

	hold := `{"event":"hold","cause":{"code":"fraud-check","text":"two cards in a minute"}}`
	a := s.want(s.ask("POST", "/v1/orders/o-1/transitions", hold, "Authorization", token, "Idempotency-Key", "k-1", "Traceparent", traceparent), http.StatusOK, "")

	if a.field("transition", "cause") != `{"code":"fraud-check"}` || !strings.HasPrefix(a.field("order", "cause", "actor"), "key:") ||
		a.field("order", "cause", "source") != "api" || a.field("order", "cause", "text") != "two cards in a minute" || a.field("order", "cause", "trace") != traceparent {
		t.Error(a.text)
	}

	// A repeat with another text is the same request, and gets the same transition.
	again := s.want(s.ask("POST", "/v1/orders/o-1/transitions", strings.Replace(hold, "two", "three", 1), "Authorization", token, "Idempotency-Key", "k-1"), http.StatusOK, "")
	if again.Header.Get("Idempotent-Replayed") != "true" || again.field("transition") != a.field("transition") || again.field("order", "cause", "text") != "two cards in a minute" {
		t.Error(again.text)
	}

	s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"release"}`, "Authorization", token, "Idempotency-Key", "k-2", "Traceparent", "nonsense"), http.StatusOK, "")

	for path, want := range map[string]string{
		"/v1/orders/o-1/transitions": `"text":"two cards in a minute"`,
		"/v1/orders/o-1/explanation": `"text":"two cards in a minute"`,
	} {
		if a := s.want(s.ask("GET", path, "", "Authorization", token), http.StatusOK, ""); !strings.Contains(a.text, want) || strings.Contains(a.text, "nonsense") {
			t.Errorf("%s: %s", path, a.text)
		}
	}
}

func TestACauseOfACallerHasRules(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	for cause, pointer := range map[string]string{
		`{"code":"out of stock"}`:                      "/cause/code",
		`{"code":"` + strings.Repeat("c", 33) + `"}`:   "/cause/code",
		`{"text":"` + strings.Repeat("t", 1001) + `"}`: "/cause/text",
		`{"text":"two\nlines"}`:                        "/cause",
		`{"actor":"key:other"}`:                        "/cause/actor",
		`{"source":"cli"}`:                             "/cause/source",
	} {
		a := s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"hold","cause":`+cause+`}`, "Idempotency-Key", "k"), http.StatusUnprocessableEntity, "invalid_request")
		if !strings.Contains(a.text, `"`+pointer) {
			t.Errorf("%s: %s, want a pointer to %s", cause, a.text, pointer)
		}
	}
}

// TestAnOrderSaysOverHTTPWhyItWasCanceled, as an execution has canceled it.
func TestAnOrderSaysOverHTTPWhyItWasCanceled(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	_, err := s.cfg.Orders.Apply(t.Context(), transitions.Request{
		OrderID: "o-1", Event: workflow.Cancel, RequestID: transitions.OutOfStockRequest,
		Cause: transitions.Cause{Code: "out-of-stock", Text: "out of stock: mug, wanted 2, 1 left"},
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{"/v1/orders/o-1", "/v1/orders/o-1/explanation", "/v1/orders/o-1/transitions", "/v1/orders"} {
		if a := s.want(s.ask("GET", path, ""), http.StatusOK, ""); !strings.Contains(a.text, "out of stock: mug, wanted 2, 1 left") {
			t.Errorf("%s: %s", path, a.text)
		}
	}
}

// TestNoRequestNamesItsActor: no body of the document has a member that says who asks, or through
// what. Unknown members are refused.
func TestNoRequestNamesItsActor(t *testing.T) {
	s := newAPIServer(t, dev)

	var document struct {
		Paths map[string]map[string]struct {
			RequestBody json.RawMessage `json:"requestBody"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(s.must("GET", "/openapi.json", "").text), &document); err != nil {
		t.Fatal(err)
	}

	bodies := 0
	seen := map[string]bool{}
	var check func(operation, schema string)
	check = func(operation, schema string) {
		if strings.Contains(schema, `"actor":`) || strings.Contains(schema, `"source":`) {
			t.Errorf("%s takes an actor or a source: %s", operation, schema)
		}

		for _, ref := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllStringSubmatch(schema, -1) {
			if name := ref[1]; !seen[name] {
				seen[name] = true
				check(operation+" "+name, string(document.Components.Schemas[name]))
			}
		}
	}

	for path, operations := range document.Paths {
		for method, o := range operations {
			if len(o.RequestBody) > 0 {
				bodies++
				check(method+" "+path, string(o.RequestBody))
			}
		}
	}

	if bodies < 20 || !seen["NewCause"] {
		t.Errorf("%d bodies, schemas %v", bodies, seen)
	}
}

// TestEditsAndPlacingHaveACauseOverHTTP: the caller and its reason.
func TestEditsAndPlacingHaveACauseOverHTTP(t *testing.T) {
	s := newAPIServer(t, nil)
	token := s.key("default", auth.Act)

	placed := strings.Replace(mugs, "{", `{"cause":{"code":"shop","text":"by phone"},`, 1)

	a := s.want(s.ask("PUT", "/v1/orders/o-1", placed, "Authorization", token), http.StatusCreated, "")
	if a.field("cause", "code") != "shop" || a.field("cause", "text") != "by phone" || !strings.HasPrefix(a.field("cause", "actor"), "key:") {
		t.Error(a.text)
	}

	a = s.want(s.ask("POST", "/v1/orders/o-1/notes", `{"text":"ring","cause":{"code":"call"}}`, "Authorization", token, "Idempotency-Key", "e-1"), http.StatusOK, "")
	if a.field("editCause", "code") != "call" || a.field("editCause", "source") != "api" || a.field("cause", "code") != "shop" {
		t.Error(a.text)
	}

	// An address takes no cause in its body. The caller is known all the same.
	a = s.want(s.ask("PUT", "/v1/orders/o-1/addresses/shipping", `{"city":"Ulm"}`, "Authorization", token, "Idempotency-Key", "e-2"), http.StatusOK, "")
	if strings.Contains(a.text, `"code":"call"`) || !strings.HasPrefix(a.field("editCause", "actor"), "key:") {
		t.Error(a.text)
	}
}
