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

// runSweeps releases expired holds and completes payments whose worker has stopped, every
// 15 s until ctx ends. Any number of workers may do so at the same time.
func (b *Backend) runSweeps(ctx context.Context) error {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}

		if err := errors.Join(b.releaseExpired(ctx), b.recoverPayments(ctx)); err != nil && ctx.Err() == nil {
			b.log.Warn("a sweep of holds and payments failed; the next one continues", "error", err)
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

// runReports tries the reports of the carrier that wait for their orders, every 15 s until ctx
// ends. It has a loop of its own, because a carrier that hangs must not delay the other sweeps. The
// sandbox repeats its reports itself.
func (b *Backend) runReports(ctx context.Context) error {
	if b.Carrier != nil {
		return nil
	}

	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}

		if err := b.Reports.Sweep(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("a sweep of the carrier's reports failed; the next one continues", "error", err)
		}
	}
}

// recoverPayments completes steps of payments that no worker is working on.
func (b *Backend) recoverPayments(ctx context.Context) error {
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
