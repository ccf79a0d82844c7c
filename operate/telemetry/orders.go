package telemetry

import (
	"slices"

	"ratchet/transitions"
	"ratchet/workflow"
)

var orderMetrics = []Metric{
	{"ratchet_transitions_total", Counter, []string{"event", "verdict"}, "Transition requests by their verdict; placing an order and shipping a parcel count too"},
}

type orderInstruments struct{ decided counter }

func newOrderInstruments(m *meter) orderInstruments {
	return orderInstruments{decided: m.counter(orderMetrics, "ratchet_transitions_total")}
}

// OrderEvents returns hooks that count and then call next. Requests for events that the
// definition does not have count under "other".
func (t *Telemetry) OrderEvents(d *workflow.Definition, next transitions.Events) transitions.Events {
	known := append(slices.Clone(d.Events()), d.Place())
	events := next

	for _, event := range known {
		for _, verdict := range transitions.Verdicts() {
			t.orders.decided.plus(0, string(event), verdict.String())
		}
	}

	events.Decided = func(id transitions.OrderID, event workflow.Event, verdict transitions.Verdict) {
		// Callers may ask for any event.
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
