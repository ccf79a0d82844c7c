package server

import (
	"time"

	"ratchet/notify"
	"ratchet/transitions"
)

// orderEvents counts and traces the decisions about orders, and passes them to events.
func (b *Backend) orderEvents(events Events) transitions.Events {
	counted := b.Telemetry.OrderEvents(b.flow.definition, transitions.Events{
		Decided:  events.Decided,
		Refused:  b.noteRefusal,
		Consumed: events.Consumed,
	})

	return b.Tracing.OrderEvents(b.flow.definition, counted)
}

// notifyEvents counts and traces the attempts of deliveries and logs them at level debug.
func (b *Backend) notifyEvents() notify.Events {
	counted := b.Telemetry.NotifyEvents(notify.Events{Attempted: func(d notify.Delivery, took time.Duration) {
		b.log.Debug("notification sent", "delivery", d.ID(), "status", d.Status, "attempt", d.Attempts, "answer", d.Answer, "took", took)
	}})

	return b.Tracing.NotifyEvents(counted)
}

// reservationsSwept counts and logs a sweep of reservations.
func (b *Backend) reservationsSwept(count int, err error) {
	b.Telemetry.Found("reservations", count, 0)
	b.Telemetry.Swept("reservations", err)
	b.logSweep(count, err)
}
