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
// could be had, or as soon as the claim is known to be lost. stop waits for the beats.
func (c *Claim) working(ctx context.Context, end time.Time) (work context.Context, stop func()) {
	if !c.claims.cfg.Heartbeat {
		work, cancel := context.WithDeadlineCause(ctx, end, ErrLeaseExpired)
		return work, cancel
	}
	work, cancel := context.WithCancelCause(ctx)
	lease := time.AfterFunc(time.Until(end), func() { cancel(ErrLeaseExpired) })
	beats, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		c.beat(work, beats, func(sent time.Time) { lease.Reset(time.Until(sent.Add(c.lease))) }, cancel)
	}()
	return work, func() {
		close(beats)
		<-done
		lease.Stop()
		cancel(nil)
	}
}

// beat extends the lease until stopped, ctx ends or the claim is lost. A beat that is
// not answered is made up for by the next.
func (c *Claim) beat(ctx context.Context, stop <-chan struct{}, extended func(sent time.Time), lost func(error)) {
	every := time.NewTicker(c.lease / 3)
	defer every.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-every.C:
		}
		sent := time.Now()
		switch err := c.Extend(ctx); {
		case err == nil:
			extended(sent)
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
