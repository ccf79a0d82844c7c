package queues

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Backoff is the pause before a message that failed comes again: a random share,
// between half and all, of Base·2ⁿ⁻¹ after the nth receive, at most Max. The service
// counts whole seconds.
type Backoff struct {
	Base, Max time.Duration // defaults 1 s, 5 min
}

// maxVisibility is the longest visibility time-out there is: API reference of
// ChangeMessageVisibility. It also bounds a message's whole time in flight.
const maxVisibility = 12 * time.Hour

// policy says what becomes of messages that are not done.
type policy struct {
	attempts int // negative: no end
	backoff  Backoff
}

func newPolicy(attempts int, b Backoff) (policy, error) {
	or(&attempts, 5)
	or(&b.Base, time.Second)
	or(&b.Max, 5*time.Minute)

	if b.Base < 0 || b.Max < b.Base || b.Max > maxVisibility {
		return policy{}, fmt.Errorf("queues: Backoff from %v to %v: want 0 < Base <= Max <= 12h", b.Base, b.Max)
	}

	return policy{attempts, b}, nil
}

// judge turns a retry after the last attempt into a rejection. pardoned receives were
// no attempts.
func (p policy) judge(o Outcome, m Message, pardoned int) Outcome {
	if tries := m.Receives - pardoned; o.Kind == KindRetry && p.attempts > 0 && tries >= p.attempts {
		if o.Err == nil {
			return Reject(fmt.Errorf("given up after %d attempts", tries))
		}
		return Reject(fmt.Errorf("given up after %d attempts: %w", tries, o.Err))
	}

	return o
}

// pause is how long the message shall stay invisible.
func (p policy) pause(o Outcome, m Message) time.Duration {
	if o.After > 0 {
		return min(o.After, maxVisibility)
	}

	d := p.backoff.Max
	if n := m.Receives - 1; n < 30 && p.backoff.Base<<max(n, 0) < d {
		d = p.backoff.Base << max(n, 0)
	}

	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter
}

// or gives *p the value d when it is zero.
func or[T comparable](p *T, d T) {
	var zero T
	if *p == zero {
		*p = d
	}
}
