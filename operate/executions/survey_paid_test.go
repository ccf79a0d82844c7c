package executions_test

import (
	"testing"
	"time"

	"ratchet/operate/executions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAPaidOrderThatWasCanceledWithoutAnExecutionIsListed: the reactions of the stream may have
// booked its shipment and reserved its pieces, and nothing undoes that. An order that was never
// paid has nothing to undo. An order whose execution Step Functions has forgotten was undone.
func TestAPaidOrderThatWasCanceledWithoutAnExecutionIsListed(t *testing.T) {
	e := newOrderExecutions(t)

	for id, events := range map[transitions.OrderID][]workflow.Event{
		"unpaid":       {workflow.Cancel},
		"paid":         {workflow.Pay, workflow.Cancel},
		"held":         {workflow.Pay, workflow.Hold, workflow.Cancel},
		"charged-back": {workflow.Pay, workflow.Ship, workflow.Chargeback},
		"delivered":    {workflow.Pay, workflow.Ship, workflow.Deliver, workflow.Chargeback},
	} {
		if _, err := e.orders.Create(t.Context(), content(id)); err != nil {
			t.Fatal(err)
		}
		e.apply(id, events...)
	}

	for after, want := range map[time.Duration][]string{
		time.Minute:         nil,
		time.Hour:           {"charged-back missing", "held missing", "paid missing"},
		90 * 24 * time.Hour: nil,
	} {
		got, problems := e.survey(time.Now().Add(after), executions.Filter{})
		equal(t, "after "+after.String(), got, want)

		for _, p := range problems {
			equal(t, "commands", p.Commands, []string{"ratchet executions repair " + string(p.OrderID)})
		}
	}

	action, _, err := e.Repair(t.Context(), "paid", false)
	equal(t, "repair", []any{action, err}, []any{executions.Started, nil})
}
