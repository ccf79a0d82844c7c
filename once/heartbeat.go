package once

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

// working is the context of the work: it ends with the lease. With a heartbeat the
// lease is extended at every third of it, and the context ends with the last one that
// could be had, or as soon as the claim is known to be lost. stop cuts a beat short that
// is under way: what is left of the lease is needed to end the claim.
func (c *Claim) working(ctx context.Context) (work context.Context, stop func()) {
	end := *c.end.Load()
	if !c.claims.cfg.Heartbeat {
		work, cancel := context.WithDeadlineCause(ctx, end, ErrLeaseExpired)
		return work, cancel
	}
	work, cancel := context.WithCancelCause(ctx)
	lease := time.AfterFunc(time.Until(end), func() { cancel(ErrLeaseExpired) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.beat(work, func() { lease.Reset(time.Until(*c.end.Load())) }, cancel)
	}()

	return work, func() {
		cancel(nil)
		<-done
		lease.Stop()
	}
}

// beat extends the lease until ctx ends or the claim is lost. A beat that is not
// answered is made up for by the next.
func (c *Claim) beat(ctx context.Context, extended func(), lost func(error)) {
	every := time.NewTicker(c.lease / 3)
	defer every.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}

		switch err := c.Extend(ctx); {
		case err == nil:
			extended()
		case errors.Is(err, ErrStaleOwner), errors.Is(err, ErrLeaseExpired):
			lost(err)
			return
		case errors.Is(err, ErrEnded): // by the work itself
			return
		}
	}
}

// throttled recognises a request that DynamoDB had no capacity for.
func throttled(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	_, is := retry.DefaultThrottleErrorCodes[api.ErrorCode()]

	return is
}
