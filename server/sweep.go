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

// runSweeps releases expired holds, completes payments whose worker has stopped, and tries the
// carrier's reports that wait, every
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

		if err := errors.Join(b.releaseExpired(ctx), b.recoverPayments(ctx), b.tryReports(ctx)); err != nil && ctx.Err() == nil {
			b.log.Warn("a sweep of holds, payments and reports failed; the next one continues", "error", err)
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

// tryReports tries the reports of the carrier that wait for their orders. Without callbacks none
// is stored.
func (b *Backend) tryReports(ctx context.Context) error {
	if b.Config.CarrierSecret == "" {
		return nil
	}

	return b.Reports.Sweep(ctx)
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
