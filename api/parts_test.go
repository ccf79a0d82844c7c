package api_test

import (
	"net/http"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// tickets returns an API of support tickets, which have a customer and nothing else.
func tickets(t *testing.T) *world {
	t.Helper()

	d, err := workflow.New(workflow.Spec{
		Name: "ticket", Version: 1, Place: "open", Initial: "OPEN", Content: []workflow.Part{workflow.PartCustomer},
		States:      []workflow.StateSpec{{State: "OPEN"}, {State: "CLOSED", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "close", From: []workflow.State{"OPEN"}, To: "CLOSED"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	w := newWorld(t, dev)
	if w.cfg.Orders, err = transitions.New(transitions.Config{DynamoDB: w.db, Table: "orders", Definition: d, Log: embeddedtest.Quiet()}); err != nil {
		t.Fatal(err)
	}

	if w.handler, err = api.New(w.cfg); err != nil {
		t.Fatal(err)
	}

	return w
}

func TestATicketIsPlacedWithoutACurrency(t *testing.T) {
	w := tickets(t)

	w.want(w.ask("PUT", "/v1/orders/t-1", `{"customer":"c-1"}`), http.StatusCreated, "")

	a := w.want(w.ask("GET", "/v1/orders/t-1", ""), http.StatusOK, "")
	if a.field("customer") != "c-1" || strings.Contains(a.text, "total") || strings.Contains(a.text, "items") {
		t.Error(a.text)
	}

	a = w.want(w.ask("PUT", "/v1/orders/t-2", mugs), http.StatusUnprocessableEntity, "invalid_request")
	if !strings.Contains(a.text, "items: the definition ticket has no such part") {
		t.Error(a.text)
	}
}

func TestTheDocumentRequiresTheTotalThatTheDefinitionHas(t *testing.T) {
	required := func(w *world) string {
		return w.want(w.ask("GET", "/openapi.json", ""), http.StatusOK, "").field("components", "schemas", "NewOrder", "required")
	}

	if got := required(newWorld(t, dev)); got != `["total"]` {
		t.Errorf("shop: %s", got)
	}

	if got := required(tickets(t)); got != "null" {
		t.Errorf("ticket: %s", got)
	}
}
