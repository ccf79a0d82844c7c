package server

import (
	"context"
	"slices"
	"time"

	"ratchet/notify"
	"ratchet/transitions"
	"ratchet/workflow"
)

// orderEvents counts and traces the decisions about orders, and passes them to events.
func (b *Backend) orderEvents(events Events) transitions.Events {
	known := append(slices.Clone(b.flow.definition.Events()), b.flow.definition.Place())

	counted := b.Telemetry.OrderEvents(b.flow.definition, transitions.Events{
		Decided: func(id transitions.OrderID, event workflow.Event, verdict transitions.Verdict) {
			of := event
			if !slices.Contains(known, event) {
				of = "other" // callers may ask for any event
			}
			b.pulse.decide(of, verdict)

			if events.Decided != nil {
				events.Decided(id, event, verdict)
			}
		},
		Refused:  b.noteRefusal,
		Consumed: events.Consumed,
	})

	traced := b.Tracing.OrderEvents(b.flow.definition, counted)
	begin := traced.Begin

	traced.Begin = func(ctx context.Context, id transitions.OrderID, event workflow.Event, trace string) (context.Context, string, func(transitions.Result, error)) {
		end := func(transitions.Result, error) {}
		if begin != nil {
			ctx, trace, end = begin(ctx, id, event, trace)
		}

		return ctx, trace, func(r transitions.Result, err error) {
			if err == nil {
				b.pulse.move(r, len(b.Config.AcceptVersions) > 0)
			}
			end(r, err)
		}
	}

	return traced
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
