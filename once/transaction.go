package once

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// DoInTransaction writes the parts that add puts into a transaction together with the
// record of the key: all or nothing, in one request and without a lease. The result is
// stored with them and replayed. No part may write the key's own record. If a part is
// refused, DoInTransaction returns the part's error. Nothing is written then, and a later
// call may succeed.
func (c *Claims) DoInTransaction(ctx context.Context, key string, payload, result []byte, add func(*txn.Transaction)) (out []byte, replayed bool, err error) {
	a, err := c.newAttempt(ctx, key, payload, 0)
	if err != nil {
		return nil, false, c.observe("transact", key, "", err)
	}

	if a.invalid == nil && len(result) > c.cfg.Inline {
		a.invalid = fmt.Errorf("%w: result: %d bytes, at most %d in a transaction", ErrInvalid, len(result), c.cfg.Inline)
	}

	out, replayed, err = c.transact(ctx, a, result, add)
	outcome := outcomeCompleted
	if replayed {
		outcome = Replayed
	}

	return out, replayed, c.observe("transact", key, outcome, err)
}

func (c *Claims) transact(ctx context.Context, a *attempt, result []byte, add func(*txn.Transaction)) ([]byte, bool, error) {
	if claim, err := c.cached(a); claim != nil || err != nil {
		return answered(claim, err)
	}

	if a.invalid != nil {
		return answered(c.refuse(ctx, a, a.invalid))
	}

	// The record is written together with the effect, so its end must be right at once.
	if err := c.learn(ctx); err != nil {
		return nil, false, err
	}

	var s snapshot
	done := target{status: StatusCompleted, result: result}

	for range rounds {
		now, r := c.clock.Now(), s.record
		var u claimUpdate

		switch decision := a.decide(r, now, c.cfg.margin, c.cfg.ExpiredIsUnknown); {
		case r != nil && r.owner == a.owner && r.Status == StatusCompleted:
			return result, false, nil // this call made the record; the answer was lost
		case a.keyEnded(now):
			return nil, false, ErrKeyExpired
		case decision == claimFree:
			u = c.claimNew(a, now, done)
		case decision == leaseRanOut || decision == takeOver && (r.Status == StatusInProgress || r.begunBefore(now)):
			// A holder with a lease may have begun the work and had an effect.
			return nil, false, ErrUnknownOutcome
		case decision == takeOver:
			u = c.claimSeen(a, now, r, done)
		default:
			return answered(c.answer(ctx, a, r, decision))
		}

		var t txn.Transaction
		// The record is the marker: if the answer is lost, the record names this call.
		t.Marker("claim", types.TransactWriteItem{Update: u.Part()})
		add(&t)

		// A key ends also between two attempts.
		ended := false
		if !a.keyEnd.IsZero() {
			t.EachAttempt(func(context.Context) error {
				if ended = a.keyEnded(c.clock.Now()); ended {
					return ErrKeyExpired
				}

				return nil
			})
		}

		err := c.writer.Write(ctx, &t)
		refused, isMarker := markerRefusal(err)

		if ended {
			// An attempt before may have been made. The record shows it, and the next round decides.
			if s, err = c.read(ctx, a.key); err != nil {
				return nil, false, fmt.Errorf("%w: %w", ErrUnanswered, err)
			}

			continue
		}

		if !isMarker {
			if err == nil {
				c.remember(a.key, finished{fingerprint: a.fingerprint, fence: u.fence, result: result, until: u.keep})
			}

			return result, false, unanswered(err)
		}

		if s, err = c.snapshotOf(ctx, a.key, refused.Old); err != nil {
			return nil, false, err
		}
	}

	return nil, false, c.inProgress(c.clock.Now())
}

// answered returns the answer of a claim that was made before. A final failure, and a result that was
// not kept, come from earlier work, too, so they count as replayed.
func answered(claim *Claim, err error) (result []byte, replayed bool, _ error) {
	var failure *Failure
	if err != nil {
		return nil, errors.As(err, &failure) || errors.Is(err, ErrResultUnavailable), err
	}

	return claim.Result, true, nil
}

// CompleteIn completes the claim in one transaction with the parts that add puts into it.
// The parts are written only if the claim is still this caller's. Work under [Claims.Do] may
// complete its claim this way; it must then return the same result.
func (c *Claim) CompleteIn(ctx context.Context, result []byte, add func(*txn.Transaction)) error {
	switch {
	case c.Outcome == Untracked:
		// No record exists: the parts are written without one.
		var t txn.Transaction
		add(&t)

		return unanswered(c.claims.writer.Write(ctx, &t))
	case c.claims == nil || c.state.Load() != claimHeld:
		return c.observeError("complete", fmt.Errorf("%w: the claim is not held", ErrInvalid))
	case len(result) > c.claims.cfg.Inline:
		return c.observeError("complete", fmt.Errorf("%w: result: %d bytes, at most %d in a transaction", ErrInvalid, len(result), c.claims.cfg.Inline))
	}

	s, err := c.completion(ctx, result)
	if err == nil {
		err = c.learn(ctx)
	}

	if err != nil {
		return c.observeError("complete", err)
	}

	keep, err := c.writeIn(ctx, s, add)
	if err == nil {
		c.state.Store(claimEnded)
		c.claims.remember(c.key, finished{fingerprint: c.fingerprint, fence: c.fence, result: result, until: keep})
	}

	return c.claims.observe(s.verb, c.key, s.outcome, err)
}

// writeIn writes the step in a transaction. It is [Claim.write] otherwise.
func (c *Claim) writeIn(ctx context.Context, s step, add func(*txn.Transaction)) (keep time.Time, err error) {
	for range rounds {
		now := c.claims.clock.Now()
		keep = c.claims.keepUntil(now, c.keyEnd)
		update := c.update(now, keep, s, false)

		var t txn.Transaction
		t.Marker("claim", types.TransactWriteItem{Update: update.Part()})
		add(&t)
		// The end of the lease is compared with the time of each attempt.
		t.EachAttempt(func(context.Context) error {
			now = c.claims.clock.Now()
			update.Bind(":now", dynamo.Millis(now))

			return nil
		})
		// A repeat of the call has the same token. If its body differs, the marker decides.
		t.Token(c.key, c.fence)

		err = c.claims.writer.Write(ctx, &t)

		refused, isMarker := markerRefusal(err)
		if !isMarker {
			return keep, unanswered(err)
		}

		next, err := c.claims.snapshotOf(ctx, c.key, refused.Old)
		if err == nil {
			err = c.refusal(now, s, next.record)
		}

		if !c.decidedTooLate(err, next.record) {
			return keep, err
		}
	}

	return keep, ErrLeaseExpired
}

// markerRefusal reports whether the marker's condition failed.
func markerRefusal(err error) (*txn.CanceledError, bool) {
	var refused *txn.CanceledError
	return refused, errors.As(err, &refused) && refused.Marker
}
