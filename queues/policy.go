package queues

import (
	"cmp"
	"fmt"
	"time"

	"ratchet/internal/worker"
)

// Backoff is the wait before a message that failed comes again: after the nth receive, a
// random part, between half and all, of Base * 2^(n-1), at most Max. The service counts
// whole seconds.
type Backoff struct {
	Base time.Duration // default 1 s
	Max  time.Duration // default 5 min
}

// maxVisibility is the longest visibility timeout: API reference of
// ChangeMessageVisibility. It also bounds the whole time of a message in flight.
const maxVisibility = 12 * time.Hour

// policy says how often and when messages that are not done come again.
type policy struct {
	attempts int // negative: no limit
	backoff  Backoff
}

func newPolicy(attempts int, b Backoff) policy {
	return policy{
		attempts: cmp.Or(attempts, 5),
		backoff:  Backoff{Base: cmp.Or(b.Base, time.Second), Max: cmp.Or(b.Max, 5*time.Minute)},
	}
}

func (p policy) check() error {
	if b := p.backoff; b.Base < 0 || b.Max < b.Base || b.Max > maxVisibility {
		return fmt.Errorf("queues: Backoff from %v to %v: want 0 < Base <= Max <= 12h", b.Base, b.Max)
	}

	return nil
}

// limitAttempts turns a retry after the last attempt into a rejection. Uncounted
// receives are no attempts.
func (p policy) limitAttempts(o Outcome, m Message, uncounted int) Outcome {
	attempts := m.Receives - uncounted
	if o.Kind != KindRetry || p.attempts <= 0 || attempts < p.attempts {
		return o
	}

	if o.Err == nil {
		return Reject(fmt.Errorf("given up after %d attempts", attempts))
	}

	return Reject(fmt.Errorf("given up after %d attempts: %w", attempts, o.Err))
}

// delay returns how long the message stays invisible.
func (p policy) delay(o Outcome, m Message) time.Duration {
	if o.After > 0 {
		return min(o.After, maxVisibility)
	}

	return worker.Backoff(p.backoff).Delay(m.Receives)
}
