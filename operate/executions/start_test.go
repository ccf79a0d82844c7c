package executions_test

import (
	"errors"
	"testing"
	"time"

	"ratchet/operate/executions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAnEditedOrderIsStartedAsItIs: the content differs from the content at the placing.
func TestAnEditedOrderIsStartedAsItIs(t *testing.T) {
	e := newOrderExecutions(t)
	if _, err := e.orders.Create(t.Context(), content("adopted-1")); err != nil {
		t.Fatal(err)
	}

	for quantity := int64(2); quantity < 4; quantity++ {
		edit := transitions.Edit{OrderID: "adopted-1", EventID: transitions.RequestID(time.Duration(quantity).String())}
		if r, err := e.orders.ChangeItem(t.Context(), edit, transitions.Item{SKU: "mug", Quantity: quantity, Price: 1250}); err != nil || !r.Verdict.Done() {
			t.Fatal(r.Verdict, err)
		}

		// The machine waits only with an order that it adopts.
		x, err := e.StartPlaced(t.Context(), "adopted-1")
		equal(t, "the execution", []any{x.Name, x.Status, err}, []any{"adopted-1", "RUNNING", nil})
	}

	got, _ := e.survey(time.Now(), executions.Filter{})
	equal(t, "stuck", got, []string(nil))
}

func TestAStartOfAPlacedOrderIsRefused(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("o-failed")
	e.ended("o-failed")

	forgotten := content("o-forgotten")
	forgotten.PlacedBy = "2026-01-01T00:00:00.000Z"

	if _, err := e.orders.Create(t.Context(), forgotten); err != nil {
		t.Fatal(err)
	}

	for id, want := range map[transitions.OrderID]error{
		"none":        transitions.ErrUnknownOrder,
		"o-failed":    executions.ErrFailed,
		"o-forgotten": executions.ErrForgotten,
	} {
		if _, err := e.StartPlaced(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}

	if _, exists, err := e.Current(t.Context(), "o-forgotten"); exists || err != nil {
		t.Errorf("the order that was refused has an execution: %v, %v", exists, err)
	}
}

// TestAnOrderAtItsEndWhoseExecutionRunsIsListed: the answer that would end the wait did not come.
func TestAnOrderAtItsEndWhoseExecutionRunsIsListed(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("wait-1")
	e.apply("wait-1", workflow.Cancel)

	for after, want := range map[time.Duration][]string{59 * time.Minute: nil, 61 * time.Minute: {"wait-1 overdue"}} {
		got, _ := e.survey(time.Now().Add(after), executions.Filter{})
		equal(t, "after "+after.String(), got, want)
	}
}
