package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/worker"
)

// HandlerFunc acts on one record. If it returns nil, the record is finished for
// this handler. After an error the call is repeated with backoff; when the
// handler's attempts are used up, the record becomes a dead letter. Permanent
// skips the retries; NotYet retries without counting.
//
// The context ends when the call has taken Handler.Timeout, when the lease of the
// shard is lost, or when the poller's drain is over. context.Cause returns
// ErrTimeout, ErrLeaseLost or ErrStopped accordingly. After the last two the call
// does not count as an attempt, and the next holder of the lease repeats it. A
// handler must honor its context, because Run waits for it.
type HandlerFunc func(ctx context.Context, r Record) error

// Handler is one subscriber of the stream. All handlers share one reader. Each
// has its own retries and dead letters; a handler that fails all the time delays
// the others only when Config.MaxPending is reached.
type Handler struct {
	// Name identifies the handler in dead letters, metrics and effect keys. It
	// must be unique in the poller and must not change between deployments.
	Name string
	// Filter reports whether the handler takes the record; nil takes all. It runs
	// in the reader, so it must be fast and must not block.
	Filter func(Record) bool
	// Handle acts on the record.
	Handle HandlerFunc
	// Attempts is how many calls a record gets before it becomes a dead letter.
	// 0 means Config.Retry.Attempts. A negative number means that the handler
	// never gives up; the item's later records wait for as long as it takes.
	Attempts int
	// Timeout is how long one call may take. 0 means Config.HandlerTimeout.
	Timeout time.Duration
	// Unordered gives up the order within an item for this handler: records of
	// the same item may run at the same time and overtake one that is retried.
	Unordered bool
}

// Retry says how failed calls of handlers are repeated. The pause before attempt
// n+1 is random, between one half and the whole of Base·2ⁿ⁻¹, and at most Max.
type Retry struct {
	Attempts int           // calls per record and handler; default 5
	Base     time.Duration // default 100 ms
	Max      time.Duration // default 30 s
}

func (r Retry) backoff() worker.Backoff { return worker.Backoff{Base: r.Base, Max: r.Max} }

// accepts runs the filter. If the filter panics, the record becomes a dead letter
// of the handler, because it may have been meant for it: accepts then returns true
// and the error.
func (h *Handler) accepts(r Record) (bool, error) {
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

// call calls the handler. A panic becomes a *PanicError. If the call fails after
// its timeout, the error wraps ErrTimeout.
func (h *Handler) call(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout, ErrTimeout)
	defer cancel()

	err := worker.Call(func() error { return h.Handle(ctx, r) })
	if err != nil && errors.Is(context.Cause(ctx), ErrTimeout) {
		err = fmt.Errorf("%w after %v: %w", ErrTimeout, h.Timeout, err)
	}

	return err
}
