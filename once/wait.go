package once

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"ratchet/internal/worker"
)

// pollBackoff is the wait between two reads of a key in progress, and between two tries to
// end a claim. A read costs a quarter of a claim.
var pollBackoff = worker.Backoff{Base: minPoll, Max: 2 * time.Second}

const minPoll = 20 * time.Millisecond

// await reads a key in progress until it has ended or become free, until the waiting time
// is over, or until ctx ends. In the last two cases it returns the last refusal. While the key
// is in progress, it writes nothing. The last read is at the end of the waiting time: a key that has ended
// by then is not refused because the pause before was long.
func (c *Claims) await(ctx context.Context, a *attempt, refusal error) (*Claim, error) {
	began := time.Now()

	for n := 1; ; n++ {
		left := c.wait - time.Since(began)
		if left <= 0 {
			return nil, refusal
		}

		// Come back when the lease ends at the latest, but not all waiting callers at once.
		until, _ := RetryAt(refusal)
		untilFree := max(until.Sub(c.clock.LocalNow()), minPoll) + rand.N(minPoll) //nolint:gosec // jitter, not a secret

		if !worker.Wait(ctx, min(pollBackoff.Delay(n), untilFree, left)) {
			return nil, errors.Join(refusal, context.Cause(ctx))
		}

		s, err := c.read(ctx, a.key)
		if err != nil {
			return nil, errors.Join(refusal, err)
		}

		claim, err := c.resolve(ctx, a, s)
		if !errors.Is(err, ErrInProgress) {
			return claim, err
		}
		refusal = err
	}
}
