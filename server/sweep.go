package server

import (
	"cmp"
	"context"
	"errors"
	"time"
)

const (
	// sweepInterval is the time between two sweeps of one worker.
	sweepInterval = 15 * time.Second
	// sweepPage is the highest number of holds or due rows that one call reads.
	sweepPage = 500
	// timersPerSecond and scheduledPerSecond are how many due orders and requests a worker handles per second. Ten workers in a rush
	// use half of the write units that a new table has, so other work is not throttled: an order is a write unit of its table and one
	// of the due rows, and a request about eight of three tables.
	timersPerSecond    = 200
	scheduledPerSecond = 50
)

// sweeps returns the sweeps of a worker by the names in the metrics. Each name has its own loop, because
// a carrier that hangs must not delay the payments.
func (b *Backend) sweeps() map[string][]func(context.Context) error {
	all := map[string][]func(context.Context) error{
		"payments":  {b.releaseExpired, b.recoverPayments},
		"reports":   {b.Reports.Sweep},
		"scheduled": {b.applyScheduled},
	}

	if b.Orders.HasTimers() {
		all["timers"] = []func(context.Context) error{b.moveDue}
	}

	return all
}

// sweep calls the functions one after the other, every 15 s until ctx ends. Any number of workers may
// sweep at the same time.
func (b *Backend) sweep(ctx context.Context, what string, sweeps ...func(context.Context) error) error {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}

		var err error
		for _, sweep := range sweeps {
			// The next function is called even if this one fails.
			err = errors.Join(err, sweep(ctx))
		}

		b.Telemetry.Swept(what, err)

		if err != nil && ctx.Err() == nil {
			b.log.Warn("a sweep failed; the next one continues", "sweep", what, "error", err)
		}
	}
}

// sweepDue calls sweep while there is more, and reports what each call has done and how late that was. What could not be handled does
// not make the others wait for the next tick; the error is the last one.
func (b *Backend) sweepDue(ctx context.Context, kind string, sweep func() (more bool, done int, late time.Duration, err error)) (failed error) {
	for {
		more, done, late, err := sweep()
		if ctx.Err() == nil {
			b.Telemetry.Found(kind, done, late)
		}
		failed = cmp.Or(err, failed)

		if !more || ctx.Err() != nil {
			return failed
		}
	}
}

// releaseExpired releases the holds whose time has passed.
func (b *Backend) releaseExpired(ctx context.Context) error {
	for {
		_, more, err := b.Ledger.ReleaseExpired(ctx, sweepPage)
		if !more {
			// Every call skips the holds that cannot be released, and its error names them again. So the
			// error of the last call has all of them.
			return err
		}
	}
}

// recoverPayments finishes the pending steps of payments that a crashed worker has left.
func (b *Backend) recoverPayments(ctx context.Context) error {
	if b.CheckBank() != nil {
		return nil // only a program that has the bank can finish them
	}

	for after := ""; ; {
		r, err := b.Payments.Recover(ctx, after, sweepPage)
		if err != nil {
			return err
		}

		for _, left := range r.Left {
			b.log.Warn("a step of a payment is still open", "payment", left.PaymentID, "reason", left.Reason)
		}

		if after = r.Next; after == "" {
			return nil
		}
	}
}
