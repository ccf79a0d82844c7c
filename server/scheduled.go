package server

import (
	"context"
	"time"

	"ratchet/transitions/scheduled"
)

func (b *Backend) assembleScheduled() (err error) {
	b.Scheduled, err = scheduled.New(scheduled.Config{
		DynamoDB: b.DynamoDB,
		Table:    b.Tables.Scheduled,
		DueTable: b.Tables.OrdersDue,
		Orders:   b.Orders,
		Log:      b.log,

		PerSecond: scheduledPerSecond,
		Ended: func(r scheduled.Request, late time.Duration) {
			b.log.Debug("a scheduled request has ended", "order", r.OrderID, "scheduled", string(r.ID), "event", r.Event, "status", string(r.Status), "late", late)
		},
	})

	return err
}

// applyScheduled applies the scheduled requests that are due.
func (b *Backend) applyScheduled(ctx context.Context) error {
	return b.sweepDue(ctx, "scheduled", func() (more bool, done int, late time.Duration, err error) {
		swept, err := b.Scheduled.Sweep(ctx, sweepPage)
		return swept.More, swept.Applied, swept.Late, err
	})
}
