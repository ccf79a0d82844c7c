package queues

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ratchet/internal/plural"
	"ratchet/internal/worker"
)

// Backoff is the wait before a message that failed comes again: after the nth failure it is random,
// from half to all of Base * 2^(n-1) or of Max, whichever is less. Without a limit of attempts, n
// is the number of receives. The wait is rounded up to whole seconds.
type Backoff struct {
	Base time.Duration // default 1 s
	Max  time.Duration // default 5 min
}

// maxVisibility is the longest visibility timeout: API reference of
// ChangeMessageVisibility. It also bounds the whole time of a message in flight.
const maxVisibility = 12 * time.Hour

// policy decides how often a message may fail, and when it comes again.
type policy struct {
	attempts int // negative: no limit
	backoff  Backoff
	counter  FailureCounter
}

func newPolicy(attempts int, b Backoff, counter FailureCounter) policy {
	if counter == nil {
		counter = &processFailures{}
	}

	return policy{
		attempts: cmp.Or(attempts, 5),
		backoff:  Backoff{Base: cmp.Or(b.Base, time.Second), Max: cmp.Or(b.Max, 5*time.Minute)},
		counter:  counter,
	}
}

// maxAttempts bounds Config.Attempts: a counter may store every failure.
const maxAttempts = 100

func (p policy) check() error {
	if p.attempts > maxAttempts {
		return fmt.Errorf("queues: Attempts is %d, want at most %d", p.attempts, maxAttempts)
	}

	if b := p.backoff; b.Base < 0 || b.Max < b.Base || b.Max > maxVisibility {
		return fmt.Errorf("queues: Backoff from %v to %v: want 0 < Base <= Max <= 12h", b.Base, b.Max)
	}

	return nil
}

// limitAttempts counts the failure if the outcome is a retry, and turns a retry after the last
// attempt into a rejection. n is the argument for delay: the number of failures, or of receives if
// the failures are not counted.
//
// If the counter returns an error, the outcome stays a retry, and the failure may be counted or
// not. Only a later failure that is counted can become a rejection.
func (p policy) limitAttempts(ctx context.Context, o Outcome, m Message) (counted Outcome, n int, err error) {
	if o.Kind != KindRetry || p.attempts < 0 {
		return o, m.Receives, nil
	}

	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	failures, err := p.counter.CountFailure(ctx, m.String(), m.receiveName())
	switch {
	case err != nil:
		return o, m.Receives, fmt.Errorf("count the failure of %s: %w", m, err)
	case failures < p.attempts:
		return o, failures, nil
	case o.Err == nil:
		return Reject(fmt.Errorf("given up after %s", plural.Of(failures, "attempt"))), failures, nil
	}

	return Reject(fmt.Errorf("given up after %s: %w", plural.Of(failures, "attempt"), o.Err)), failures, nil
}

// delay returns how long the message stays invisible: the wait of the outcome, or the backoff after
// the nth failure or receive.
func (p policy) delay(o Outcome, n int) time.Duration {
	if o.After > 0 {
		return min(o.After, maxVisibility)
	}

	return worker.Backoff(p.backoff).Delay(n)
}
