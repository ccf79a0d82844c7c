package once

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// DoRepeatable runs work that may run more than once for the key, because its far side acts
// once per key, and stores its result. It costs one read and one write, where [Claims.Do]
// costs two writes. No other caller is kept out meanwhile: callers at the same moment, and a
// caller after a crash between the work and the write, run the work again. The first result
// that is stored belongs to the key; every call returns it.
//
// The records of the other modes count: DoRepeatable replays their results and final failures,
// and returns ErrInProgress while a claim is held. If fn returns an error, nothing is stored.
func (c *Claims) DoRepeatable(ctx context.Context, key string, payload []byte, fn func(context.Context) ([]byte, error)) (result []byte, replayed bool, err error) {
	a, err := c.newAttempt(ctx, key, payload, 0)
	if err != nil {
		return nil, false, c.observe("repeat", key, "", err)
	}

	result, replayed, err = c.doRepeatable(ctx, a, fn)
	outcome := outcomeCompleted
	if replayed {
		outcome = Replayed
	}

	return result, replayed, c.observe("repeat", key, outcome, err)
}

func (c *Claims) doRepeatable(ctx context.Context, a *attempt, fn func(context.Context) ([]byte, error)) ([]byte, bool, error) {
	if claim, err := c.cached(a); claim != nil || err != nil {
		return answered(claim, err)
	}

	if a.invalid != nil {
		return answered(c.refuse(ctx, a, a.invalid))
	}

	s, err := c.read(ctx, a.key)
	if err != nil {
		return nil, false, err
	}

	var result []byte
	ran := false

	for range rounds {
		now, r := c.clock.Now(), s.record

		decision := a.decide(r, now, c.cfg.margin, c.cfg.ExpiredIsUnknown)
		switch {
		case r != nil && r.owner == a.owner && r.Status == StatusCompleted:
			return result, false, nil // this call made the record; the answer was lost
		case a.keyEnded(now):
			return nil, false, ErrKeyExpired
		case decision == leaseRanOut:
			return nil, false, ErrUnknownOutcome
		case decision != claimFree && decision != takeOver:
			return answered(c.answer(ctx, a, r, decision))
		}

		// fn runs once per call: if the record has changed since it was read, only the write is
		// repeated.
		if !ran {
			if result, err = fn(ctx); err != nil {
				return nil, false, err
			}

			if len(result) > c.cfg.Inline {
				return nil, false, fmt.Errorf("%w: result: %d bytes, at most %d of repeatable work", ErrInvalid, len(result), c.cfg.Inline)
			}
			ran = true
		}

		var u claimUpdate

		applied, next, err := c.apply(ctx, a.key, func(now time.Time) *dynamo.Update {
			if done := (target{status: StatusCompleted, result: result}); decision == claimFree {
				u = c.claimNew(a, now, done)
			} else {
				u = c.claimSeen(a, now, r, done)
			}

			return u.Update
		})
		if err != nil {
			return nil, false, err
		}

		if applied {
			c.remember(a.key, finished{fingerprint: a.fingerprint, fence: u.fence, result: result, until: u.keep})
			return result, false, nil
		}
		s = next
	}

	return nil, false, c.inProgress(c.clock.Now()) // the record changes faster than this caller reads it
}
