package calls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
)

// Accept runs the filter. If the filter panics, Accept returns true and the error: the record may
// be for this handler, so it becomes a dead letter.
func Accept(h *streams.Handler, r streams.Record) (bool, error) {
	if h.Filter == nil {
		return true, nil
	}

	accepted := false

	err := worker.CatchPanic(func() error {
		accepted = h.Filter(r)
		return nil
	})
	if err != nil {
		return true, fmt.Errorf("filter of handler %s: %w", h.Name, err)
	}

	return accepted, nil
}

// Do calls the handler. A panic becomes a *PanicError. If the call fails after
// its timeout, the error wraps ErrTimeout.
func Do(ctx context.Context, clock *dynamo.Clock, h *streams.Handler, r streams.Record) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout, streams.ErrTimeout)
	defer cancel()

	// Only records of the stream: a redriven or replayed record is old on purpose.
	if h.MaxAge > 0 && r.Replay == nil && IsLate(r, clock, h.MaxAge) {
		return streams.Permanent(fmt.Errorf("%w: it was created at %s", streams.ErrTooOld, r.CreatedAt.UTC().Format(time.RFC3339)))
	}

	err := worker.Call(func() error {
		if h.Recheck != nil && r.Late {
			if err := h.Recheck(ctx, r); err != nil {
				return err
			}
		}

		// Outside a poller, in a Redrive for example, the handler has no batcher: the record is a
		// batch of its own.
		if h.Handle == nil {
			return newBatcher(*h.Batch).handle(ctx, r)
		}

		return h.Handle(ctx, r)
	})
	if err != nil && errors.Is(context.Cause(ctx), streams.ErrTimeout) {
		err = fmt.Errorf("%w after %v: %w", streams.ErrTimeout, h.Timeout, err)
	}

	return err
}

// IsLate reports whether the record is older than the duration after.
func IsLate(r streams.Record, clock *dynamo.Clock, after time.Duration) bool {
	return !r.CreatedAt.IsZero() && clock.Since(r.CreatedAt) > after
}
