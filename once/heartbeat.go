package once

import (
	"context"
	"errors"
	"time"
)

// workContext returns the context of the work, which ends with the lease. With a heartbeat
// the lease is extended after every third of it. The context then ends with the last
// extension that succeeded, or as soon as the claim is known to be lost. stop waits for the
// heartbeat, and cuts off an extension that is in flight: ending the claim needs what is
// left of the lease.
func (c *Claim) workContext(ctx context.Context) (work context.Context, stop func()) {
	end := *c.end.Load()
	if !c.claims.cfg.Heartbeat {
		work, cancel := context.WithDeadlineCause(ctx, end, ErrLeaseExpired)
		return work, cancel
	}

	// A timer and not a deadline, because the heartbeat moves the end.
	work, cancel := context.WithCancelCause(ctx)
	lease := time.AfterFunc(time.Until(end), func() { cancel(ErrLeaseExpired) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.heartbeat(work, func() { lease.Reset(time.Until(*c.end.Load())) }, cancel)
	}()

	return work, func() {
		cancel(nil)
		// Wait before the timer is stopped: a heartbeat that still runs would start it again.
		<-done
		lease.Stop()
	}
}

// heartbeat extends the lease until ctx ends or the claim is lost. If an extension has no
// answer, the next one makes up for it.
func (c *Claim) heartbeat(ctx context.Context, extended func(), lost func(error)) {
	ticker := time.NewTicker(c.lease / 3)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		switch err := c.Extend(ctx); {
		case err == nil:
			extended()
		case errors.Is(err, ErrStaleOwner), errors.Is(err, ErrLeaseExpired):
			lost(err)
			return
		case errors.Is(err, ErrEnded): // the work has ended its claim
			return
		}
	}
}
