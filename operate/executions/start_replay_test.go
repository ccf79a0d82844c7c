package executions_test

import (
	"errors"
	"testing"

	"ratchet/operate/executions"
	"ratchet/transitions"
)

// TestAStartIsRepeatedAfterAnEditedOrderWasStarted: the order was placed, edited, and started with
// its edits. A repeat of the first placing, which also starts, finds that execution. The record of
// the placing decides, not the execution's input.
func TestAStartIsRepeatedAfterAnEditedOrderWasStarted(t *testing.T) {
	e := newOrderExecutions(t)
	placed := content("adopted-1")

	if _, err := e.orders.Create(t.Context(), placed); err != nil {
		t.Fatal(err)
	}

	changed := transitions.Item{SKU: "mug", Quantity: 4, Price: 1250}
	if r, err := e.orders.ChangeItem(t.Context(), transitions.Edit{OrderID: "adopted-1", EventID: "e-1"}, changed); err != nil || !r.Verdict.Done() {
		t.Fatal(r.Verdict, err)
	}

	x, err := e.StartPlaced(t.Context(), "adopted-1")
	if err != nil {
		t.Fatal(err)
	}

	arn, err := e.Start(t.Context(), e.machine, placed)
	equal(t, "the repeat", []any{arn, err}, []any{x.ARN, nil})

	other := content("adopted-1")
	other.Customer = "c-2"

	if _, err := e.Start(t.Context(), e.machine, other); !errors.Is(err, executions.ErrOtherOrder) {
		t.Errorf("other content: %v", err)
	}

	// If the order of an execution is not placed yet, only the execution's input can be compared.
	if _, err := e.Start(t.Context(), e.machine, content("wait-1")); err != nil {
		t.Fatal(err)
	}

	other = content("wait-1")
	other.Customer = "c-2"

	if _, err := e.Start(t.Context(), e.machine, other); !errors.Is(err, executions.ErrOtherOrder) {
		t.Errorf("other content of an order that is not placed: %v", err)
	}
}
