package server

import (
	"context"
	"time"

	"ratchet/internal/worker"
	"ratchet/operate/doctor"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/transitions/timers"
)

// timersHandler is the name of the handler that writes the due rows of orders.
const timersHandler = "timers"

func (b *Backend) assembleTimers() (err error) {
	b.Timers, err = timers.New(timers.Config{
		DynamoDB: b.DynamoDB,
		Table:    b.Tables.OrdersDue,
		Orders:   b.Orders,

		PerSecond: timersPerSecond,
		Applied: func(t transitions.Timer, late time.Duration) {
			b.log.Debug("time has moved an order", "event", t.Event, "from", t.From, "to", t.To, "late", late)
		},
	})

	return err
}

// timerHandlers returns the handler that writes the due rows, unless time moves no orders. It retries
// without end, because a row that is missing stays missing.
func (b *Backend) timerHandlers() []streams.Handler {
	if !b.Orders.HasTimers() {
		return nil
	}

	handle := func(ctx context.Context, record streams.Record) error {
		if _, _, err := b.Orders.Mapping().Images(record.Old, record.New); err != nil {
			return streams.Permanent(err) // a retry reads the same images
		}

		return b.Timers.Record(ctx, record.Old, record.New)
	}

	return []streams.Handler{{Name: timersHandler, Handle: handle, Attempts: -1}}
}

// moveDue moves the orders that are due.
func (b *Backend) moveDue(ctx context.Context) error {
	return b.sweepDue(ctx, "timers", func() (more bool, done int, late time.Duration, err error) {
		swept, err := b.Timers.Sweep(ctx, sweepPage)
		return swept.More, swept.Made, swept.Late, err
	})
}

// timersNoted is how often a worker notes for which timed transitions it writes due rows.
const timersNoted = time.Minute

// beginTimers notes that no order lacks its due row if there are no orders yet, and ends what was built for other timed
// transitions than this worker has. A worker of them may rebuild at any time, so it looks again.
func (b *Backend) beginTimers(ctx context.Context) error {
	for ; ctx.Err() == nil; worker.Wait(ctx, timersNoted) {
		if err := b.Timers.Begin(ctx); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "it is not known whether orders lack their due rows", "error", err)
		}
	}

	return nil
}

// checkTimers checks whether every order that time moves has its due row.
func (b *Backend) checkTimers(ctx context.Context) doctor.Check {
	const subject = "timed transitions"

	state, err := b.Timers.State(ctx)
	if err != nil {
		return doctor.NewUnchecked(subject, err.Error(), "fix the tables first")
	}

	gap, err := b.StreamInspector().LastGap(ctx)
	switch {
	case err != nil:
		return doctor.NewUnchecked(subject, err.Error(), "fix the tables first")
	case state.Missing == "" && !state.Since.IsZero() && gap.After(state.Since):
		state.Missing = "the stream has lost records, and the orders of these may lack their due rows"
	}

	if state.Missing != "" {
		return doctor.NewWarning(subject, state.Missing+": time does not move them", "`ratchet orders rebuild-timers`")
	}

	return doctor.NewOK(subject, "")
}
