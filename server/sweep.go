package server

import (
	"context"
	"errors"
	"time"
)

const (
	// sweepInterval is the time between two sweeps of one worker.
	sweepInterval = 15 * time.Second
	// sweepPage is how many holds or payments one call of a sweep handles at most.
	sweepPage = 500
)

// sweeps returns the sweeps of a worker, by the names of the swept things. Each has a loop of
// its own, because a carrier that hangs must not delay the others.
func (b *Backend) sweeps() map[string][]func(context.Context) error {
	return map[string][]func(context.Context) error{
		"payments": {b.releaseExpired, b.recoverPayments},
		"reports":  {b.Reports.Sweep},
	}
}

// sweep calls the functions every 15 s until ctx ends. Any number of workers may do so at the same
// time.
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
			// A failed sweep must not keep the next one from its turn.
			err = errors.Join(err, sweep(ctx))
		}

		b.Telemetry.Swept(what, err)

		if err != nil && ctx.Err() == nil {
			b.log.Warn("a sweep failed; the next one continues", "sweep", what, "error", err)
		}
	}
}

// releaseExpired releases the holds whose time has passed.
func (b *Backend) releaseExpired(ctx context.Context) error {
	for {
		_, more, err := b.Ledger.ReleaseExpired(ctx, sweepPage)
		if !more {
			// A hold that cannot be released is skipped, and every call reports it again:
			// the error of the last call covers all of them.
			return err
		}
	}
}

// recoverPayments completes steps of payments that no worker is working on.
func (b *Backend) recoverPayments(ctx context.Context) error {
	if b.CheckBank() != nil {
		return nil // a program that has the bank does it
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
