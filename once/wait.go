package once

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// The pause between two looks at a key in progress, doubling from the first to the
// last, each with jitter. A look is a read, a quarter of the price of a claim.
const firstPause, lastPause = 20 * time.Millisecond, 2 * time.Second

// await looks at a key in progress until it has ended or come free, the patience is
// over, or ctx ends. Then it returns the last refusal; the record is left alone.
func (c *Claims) await(ctx context.Context, a *attempt, refusal error) (*Claim, error) {
	patience := time.NewTimer(c.wait)
	defer patience.Stop()

	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		rest := pause/2 + rand.N(pause) //nolint:gosec // jitter, not a secret
		if until, ok := RetryAt(refusal); ok {
			// Nothing but its holder ends it earlier, nor will a look right after.
			rest = min(rest, max(until.Sub(c.cfg.Now()), firstPause)+rand.N(firstPause)) //nolint:gosec // jitter
		}

		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(refusal, context.Cause(ctx))
		case <-patience.C:
			timer.Stop()
			return nil, refusal
		case <-timer.C:
		}

		s, err := c.see(ctx, a.key)
		if err != nil {
			return nil, errors.Join(refusal, err)
		}

		claim, err := c.look(ctx, a, s)
		if !errors.Is(err, ErrInProgress) {
			return claim, err
		}
		refusal = err
	}
}
