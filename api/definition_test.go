package api_test

import (
	"net/http"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// deploy gives the server a definition of tickets with the content and the events, all of which close a ticket.
func (s *apiServer) deploy(version int, content []workflow.Part, events ...workflow.Event) {
	s.t.Helper()

	spec := workflow.Spec{
		Name: "ticket", Version: version, Place: "open", Initial: "OPEN", Content: content,
		States: []workflow.StateSpec{{State: "OPEN"}, {State: "CLOSED", Terminal: true}},
	}
	for _, event := range events {
		spec.Transitions = append(spec.Transitions, workflow.Transition{Event: event, From: []workflow.State{"OPEN"}, To: "CLOSED"})
	}

	d, err := workflow.New(spec)
	if err != nil {
		s.t.Fatal(err)
	}

	s.cfg.Orders = s.kit.Orders(shop.WithoutRequests, func(c *transitions.Config) {
		c.JournalTable, c.Definition, c.Versions = "", d, []int{1, 2, 3}
	})

	if s.handler, err = api.New(s.cfg); err != nil {
		s.t.Fatal(err)
	}
}

// TestARepeatIsOneUnderEveryDefinition: a request that was applied is answered as a repeat, whatever the
// server's definition says of such a request now.
func TestARepeatIsOneUnderEveryDefinition(t *testing.T) {
	s := newAPIServer(t, dev)
	customer, total := []workflow.Part{workflow.PartCustomer}, []workflow.Part{workflow.PartCustomer, workflow.PartTotal}

	bare, priced := `{"customer":"c-1"}`, `{"customer":"c-1","total":{"amount":5,"currency":"EUR"}}`
	shut := `{"event":"shut","from":"OPEN"}`
	ask := func(method, path, body, key string, status int, code string) answer {
		t.Helper()

		var headers []string
		if key != "" {
			headers = []string{"Idempotency-Key", key}
		}

		return s.want(s.ask(method, path, body, headers...), status, code)
	}
	repeated := func(a answer) {
		t.Helper()

		if a.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("it is answered as a new request: %s", a.text)
		}
	}

	s.deploy(1, customer, "close", "shut")
	ask("PUT", "/v1/orders/bare", bare, "", http.StatusCreated, "")
	ask("POST", "/v1/orders", bare, "new", http.StatusCreated, "")
	ask("POST", "/v1/orders/bare/transitions", shut, "k", http.StatusOK, "")

	s.deploy(2, total, "close")
	repeated(ask("PUT", "/v1/orders/bare", bare, "", http.StatusCreated, ""))
	repeated(ask("POST", "/v1/orders", bare, "new", http.StatusCreated, ""))
	repeated(ask("POST", "/v1/orders/bare/transitions", shut, "k", http.StatusOK, ""))
	ask("PUT", "/v1/orders/priced", priced, "", http.StatusCreated, "")

	s.deploy(3, customer, "close")
	repeated(ask("PUT", "/v1/orders/priced", priced, "", http.StatusCreated, ""))

	// A new request follows the new definition.
	ask("PUT", "/v1/orders/other", priced, "", http.StatusUnprocessableEntity, "invalid_request")
	ask("POST", "/v1/orders/priced/transitions", `{"event":"shut"}`, "l", http.StatusUnprocessableEntity, "illegal")
	ask("POST", "/v1/orders/priced/transitions", `{"event":"sh ut"}`, "l", http.StatusUnprocessableEntity, "invalid_request")
	ask("POST", "/v1/orders/priced/transitions", `{"event":"open"}`, "l", http.StatusUnprocessableEntity, "invalid_request")
	ask("POST", "/v1/orders/priced/transitions", `{"event":"close","from":"`+strings.Repeat("X", 65)+`"}`, "l", http.StatusUnprocessableEntity, "invalid_request")

	s.deploy(2, total, "close")

	a := ask("PUT", "/v1/orders/other", bare, "", http.StatusUnprocessableEntity, "invalid_request")
	if !strings.Contains(a.text, "/total") {
		t.Errorf("it does not name the total: %s", a.text)
	}

	// The document says what new requests may have.
	document := s.want(s.ask("GET", "/openapi.json", ""), http.StatusOK, "")
	if got := document.field("components", "schemas", "NewTransition", "properties", "event", "enum"); got != `["close"]` {
		t.Errorf("events in the document: %s", got)
	}

	if got := document.field("components", "schemas", "NewTransition", "properties", "from", "enum"); got != `["OPEN","CLOSED"]` {
		t.Errorf("states in the document: %s", got)
	}
}
