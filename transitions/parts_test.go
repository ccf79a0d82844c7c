package transitions_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// ticketDefinition defines a support ticket: it has a customer, and nothing else of a shop order.
func ticketDefinition(t *testing.T, parts ...workflow.Part) *workflow.Definition {
	t.Helper()

	d, err := workflow.New(workflow.Spec{
		Name: "ticket", Version: 1, Place: "open", Initial: workflow.Pending, Content: append([]workflow.Part{}, parts...),
		States:      []workflow.StateSpec{{State: workflow.Pending}, {State: "CLOSED", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "close", From: []workflow.State{workflow.Pending}, To: "CLOSED"}},
		Editable:    []workflow.State{workflow.Pending},
	})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func TestATicketNeedsNoTotalAndNoItems(t *testing.T) {
	f := newOrders(t)
	f.reconfigure(func(c *transitions.Config) { c.Definition = ticketDefinition(t, workflow.PartCustomer) })

	n := transitions.NewOrder{ID: "t-1", Customer: "c-1"}

	result, err := f.Create(t.Context(), n)
	if err != nil || result.Verdict != transitions.Applied {
		t.Fatalf("%v %v", result.Verdict, err)
	}

	order, _, err := f.Get(t.Context(), "t-1")
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}

	for _, absent := range []string{"total", "items", "currency"} {
		if strings.Contains(string(text), absent) {
			t.Errorf("the ticket shows %s: %s", absent, text)
		}
	}

	if data := order.GuardData(); data["total"] != nil || data["items"] != nil {
		t.Errorf("the item has parts that the definition lacks: %v", data)
	}

	if again, err := f.Create(t.Context(), n); err != nil || again.Verdict != transitions.Replayed {
		t.Errorf("placed again: %v %v", again.Verdict, err)
	}

	closed, err := f.Apply(t.Context(), transitions.Request{OrderID: "t-1", Event: "close", TransitionID: 2})
	if err != nil || closed.Verdict != transitions.Applied {
		t.Errorf("close: %v %v", closed.Verdict, err)
	}
}

// TestAPartThatTheDefinitionLacksIsRefused at placing and at every edit, by its name.
func TestAPartThatTheDefinitionLacksIsRefused(t *testing.T) {
	f := newOrders(t)
	f.reconfigure(func(c *transitions.Config) { c.Definition = ticketDefinition(t) })

	if _, err := f.Create(t.Context(), transitions.NewOrder{ID: "t-1"}); err != nil {
		t.Fatal(err)
	}

	line := transitions.Item{SKU: "mug", Quantity: 1, Price: 1}
	edit := transitions.Edit{OrderID: "t-1", EventID: "e"}
	place := func(n transitions.NewOrder) func() error {
		return func() error {
			n.ID = "t-2"
			_, err := f.Create(t.Context(), n)

			return err
		}
	}
	rows := []struct {
		part workflow.Part
		send func() error
	}{
		{workflow.PartItems, place(transitions.NewOrder{Items: []transitions.Item{line}})},
		{workflow.PartTotal, place(transitions.NewOrder{Total: transitions.Money{Currency: "EUR"}})},
		{workflow.PartCustomer, place(transitions.NewOrder{Customer: "c-1"})},
		{workflow.PartItems, func() error { _, err := f.AddItems(t.Context(), edit, line); return err }},
		{workflow.PartItems, func() error { return f.addIn(t, edit, line) }},
		{workflow.PartItems, func() error { _, err := f.ChangeItem(t.Context(), edit, line); return err }},
		{workflow.PartItems, func() error { _, err := f.RemoveItem(t.Context(), edit, "mug"); return err }},
		{workflow.PartShippingAddress, func() error {
			_, err := f.SetAddress(t.Context(), edit, "shipping", transitions.Address{"city": "Bonn"})
			return err
		}},
		{workflow.PartBillingAddress, func() error {
			_, err := f.SetAddress(t.Context(), edit, "billing", transitions.Address{"city": "Bonn"})
			return err
		}},
	}

	for _, row := range rows {
		err := row.send()
		if !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), string(row.part)+": the definition ticket has no such part") {
			t.Errorf("%s: %v", row.part, err)
		}
	}

	if _, found, _ := f.Get(t.Context(), "t-2"); found {
		t.Error("a refused ticket was placed")
	}

	if note, err := f.AddNote(t.Context(), edit, transitions.Note{Text: "called back"}); err != nil || note.Verdict != transitions.Applied {
		t.Errorf("note: %v %v", note.Verdict, err)
	}
}

func TestLinesWithoutATotalAreEdited(t *testing.T) {
	f := newOrders(t)
	f.reconfigure(func(c *transitions.Config) { c.Definition = ticketDefinition(t, workflow.PartItems) })

	if _, err := f.Create(t.Context(), transitions.NewOrder{ID: "t-1"}); err != nil {
		t.Fatal(err)
	}

	edit := transitions.Edit{OrderID: "t-1", EventID: "add"}
	if r, err := f.AddItems(t.Context(), edit, transitions.Item{SKU: "mug", Quantity: 1}); err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("add: %v %v", r.Verdict, err)
	}

	edit.EventID = "remove"
	if r, err := f.RemoveItem(t.Context(), edit, "mug"); err != nil || r.Verdict != transitions.Applied || len(r.Order.Items) != 0 {
		t.Errorf("remove: %+v %v", r, err)
	}
}

func TestADefinitionWithATotalRequiresIt(t *testing.T) {
	n := transitions.NewOrder{ID: "o-1"}
	if err := n.ValidateFor(workflow.Order()); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "total.currency") {
		t.Errorf("error %v", err)
	}

	if err := n.Validate(); err != nil {
		t.Errorf("without a definition: %v", err)
	}
}
