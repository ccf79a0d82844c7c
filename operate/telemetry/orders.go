package telemetry

import (
	"slices"

	"ratchet/transitions"
	"ratchet/workflow"
)

var orderMetrics = []Metric{
	{"ratchet_transitions_total", Counter, []string{"event", "verdict"}, "Transition requests by their verdict; placing an order and shipping a parcel count too"},
	{"ratchet_orders_moved_by_others_total", Counter, nil, "Records of orders whose state another program has changed without a transition"},
}

type orderInstruments struct{ decided, movedByOthers counter }

func newOrderInstruments(m *meter) orderInstruments {
	o := orderInstruments{
		decided:       m.counter(orderMetrics, "ratchet_transitions_total"),
		movedByOthers: m.counter(orderMetrics, "ratchet_orders_moved_by_others_total"),
	}
	o.movedByOthers.zero()

	return o
}

// MovedByOther counts a record of an order whose state another program has changed.
func (t *Telemetry) MovedByOther(transitions.OrderID) { t.orders.movedByOthers.inc() }

// OrderEvents returns hooks that count and then call next. Requests for events that are not in the
// definition count under "other".
func (t *Telemetry) OrderEvents(d *workflow.Definition, next transitions.Events) transitions.Events {
	known := append(slices.Clone(d.Events()), d.Place())
	events := next

	// Every series begins with 0, so that a rate sees the first refusal.
	for _, event := range known {
		for _, verdict := range transitions.Verdicts() {
			t.orders.decided.plus(0, string(event), verdict.String())
		}
	}

	events.Decided = func(id transitions.OrderID, event workflow.Event, verdict transitions.Verdict) {
		// Callers may ask for any event, and a label's values must be bounded.
		name := "other"
		if slices.Contains(known, event) {
			name = string(event)
		}
		t.orders.decided.inc(name, verdict.String())

		if next.Decided != nil {
			next.Decided(id, event, verdict)
		}
	}

	return events
}
