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

// tickets returns an API of support tickets, which have a customer and nothing else.
func tickets(t *testing.T) *apiServer {
	t.Helper()

	d, err := workflow.New(workflow.Spec{
		Name: "ticket", Version: 1, Place: "open", Initial: "OPEN", Content: []workflow.Part{workflow.PartCustomer},
		States:      []workflow.StateSpec{{State: "OPEN"}, {State: "CLOSED", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "close", From: []workflow.State{"OPEN"}, To: "CLOSED"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	s := newAPIServer(t, dev)
	s.cfg.Orders = s.kit.Orders(shop.WithoutRequests, func(c *transitions.Config) { c.JournalTable, c.Definition = "", d })

	if s.handler, err = api.New(s.cfg); err != nil {
		t.Fatal(err)
	}

	return s
}

func TestATicketIsPlacedWithoutACurrency(t *testing.T) {
	s := tickets(t)

	s.want(s.ask("PUT", "/v1/orders/t-1", `{"customer":"c-1"}`), http.StatusCreated, "")

	a := s.want(s.ask("GET", "/v1/orders/t-1", ""), http.StatusOK, "")
	if a.field("customer") != "c-1" || strings.Contains(a.text, "total") || strings.Contains(a.text, "items") {
		t.Error(a.text)
	}

	a = s.want(s.ask("PUT", "/v1/orders/t-2", mugs), http.StatusUnprocessableEntity, "invalid_request")
	if !strings.Contains(a.text, "items: the definition ticket has no such part") {
		t.Error(a.text)
	}
}

func TestTheDocumentRequiresTheTotalThatTheDefinitionHas(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and one document")
	}

	required := func(s *apiServer) string {
		return s.want(s.ask("GET", "/openapi.json", ""), http.StatusOK, "").field("components", "schemas", "NewOrder", "required")
	}

	if got := required(newAPIServer(t, dev)); got != `["total"]` {
		t.Errorf("shop: %s", got)
	}

	if got := required(tickets(t)); got != "null" {
		t.Errorf("ticket: %s", got)
	}
}
