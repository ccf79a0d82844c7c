package server_test

import (
	"strings"
	"testing"

	"ratchet/once/inventory"
	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

// refusalsOf returns the lines of an order's time line about refusals.
func (p *patient) refusalsOf(id transitions.OrderID) string {
	p.t.Helper()

	p.must(p.Refusals.Flush(p.t.Context()))

	e, err := inspect.Explain(p.t.Context(), p.Orders, id)
	p.must(err)

	moments, _, incomplete := e.Timeline(p.t.Context(), p.Orders.Definition(), p.Around())
	if len(incomplete) > 0 {
		p.t.Errorf("incomplete: %v", incomplete)
	}

	var lines strings.Builder
	for _, m := range moments {
		if m.Kind == "refusal" {
			lines.WriteString(m.Words() + "\n")
		}
	}

	return lines.String()
}

// TestWhatWasRefusedIsSeenAtTheOrder: transitions, edits, and lines for which pieces are missing.
func TestWhatWasRefusedIsSeenAtTheOrder(t *testing.T) {
	p := newPatient(t)
	ctx := t.Context()
	api := transitions.Cause{Source: "api", Actor: "key:2vq0"}

	if lines := p.refusalsOf(mug.ID); lines != "" {
		t.Errorf("nothing was refused: %s", lines)
	}

	p.must(p.Stock.Set(ctx, "cup", 1))

	_, err := p.AddItems(ctx, transitions.Edit{OrderID: mug.ID, EventID: "e-1", Cause: api}, transitions.Item{SKU: "cup", Quantity: 2, Price: 1})
	if !strings.Contains(err.Error(), inventory.ErrOutOfStock.Error()) {
		t.Fatal(err)
	}

	for range 3 {
		_, err = p.Orders.Apply(ctx, transitions.Request{OrderID: mug.ID, Event: workflow.Deliver, RequestID: "r-1", Cause: api})
		p.must(err)
	}

	_, err = p.Orders.Apply(ctx, transitions.Request{OrderID: mug.ID, Event: workflow.Cancel, RequestID: "r-2"})
	p.must(err)
	_, err = p.Orders.AddNote(ctx, transitions.Edit{OrderID: mug.ID, EventID: "e-2"}, transitions.Note{Text: "ring twice"})
	p.must(err)

	lines := p.refusalsOf(mug.ID)
	for _, want := range []string{
		"add_items was refused: out-of-stock, through api: out of stock: cup, wanted 2, 1 left\n",
		"deliver was refused: WrongState, through api (at least 3 times since ",
		"add_note was refused: WrongState: the order was CANCELLED, it needs PENDING or ON_HOLD\n",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing in\n%s", want, lines)
		}
	}

	if n := strings.Count(lines, "\n"); n != 3 {
		t.Errorf("%d refusals:\n%s", n, lines)
	}

	for _, secret := range []string{"key:2vq0", "ring twice"} {
		if strings.Contains(lines, secret) {
			t.Errorf("%q is in the log:\n%s", secret, lines)
		}
	}

	// An order that does not exist has no log.
	_, err = p.Orders.Apply(ctx, transitions.Request{OrderID: "nothing", Event: workflow.Pay, RequestID: "r-1"})
	p.must(err)
	p.must(p.Refusals.Flush(ctx))

	if found, err := p.Refusals.Of(ctx, "nothing"); err != nil || len(found.List) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
