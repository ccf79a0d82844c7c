package workflow_test

import (
	"slices"
	"testing"

	"ratchet/workflow"
)

// TestPaidStates: a canceled order may have been paid or not, so its state does not say.
func TestPaidStates(t *testing.T) {
	paid := []workflow.State{
		workflow.PaymentReceived, workflow.PaidOnHold, workflow.PartiallyShipped, workflow.Shipped, workflow.Delivered,
		workflow.ReturnRequested, workflow.Returned, workflow.Refunded, workflow.ChargedBack, workflow.Completed,
	}

	d := workflow.Order()
	for _, s := range d.States() {
		if got, want := d.IsPaid(s.State), slices.Contains(paid, s.State); got != want {
			t.Errorf("%s is paid: %t, want %t", s.State, got, want)
		}
	}

	if d.IsPaid("ELSEWHERE") {
		t.Error("an unknown state is paid")
	}
}

// TestNoDefinitionHasAReservedEvent, as a transition or to place orders.
func TestNoDefinitionHasAReservedEvent(t *testing.T) {
	for _, event := range []workflow.Event{workflow.Migrate, workflow.Imported} {
		spec := workflow.Order().Spec()
		spec.Transitions[0].Event = event

		if _, err := workflow.New(spec); err == nil {
			t.Errorf("a transition has the event %s", event)
		}

		spec = workflow.Order().Spec()
		spec.Place = event

		if _, err := workflow.New(spec); err == nil {
			t.Errorf("orders are placed with the event %s", event)
		}
	}
}
