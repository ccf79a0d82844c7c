package once

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/txn"
)

// DoInTransaction writes the parts that add puts into a transaction together with the
// record of the key: all or nothing, in one request and without a lease. The result is
// stored with them and replayed. No part may write the key's own record. If a part is
// refused, DoInTransaction returns the part's error. Nothing is written then, and a later
// call may succeed.
func (c *Claims) DoInTransaction(ctx context.Context, key string, payload, result []byte, add func(*txn.Transaction)) (out []byte, replayed bool, err error) {
	a, err := c.newAttempt(key, payload, 0)
	if err == nil && len(result) > c.cfg.Inline {
		err = fmt.Errorf("%w: result: %d bytes, at most %d in a transaction", ErrInvalid, len(result), c.cfg.Inline)
	}

	if err != nil {
		return nil, false, c.observe("transact", key, "", err)
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
		return resultFrom(claim), true, err
	}

	var s snapshot
	done := target{status: StatusCompleted, result: result}

	for range rounds {
		now, r := c.cfg.Now(), s.record
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
		case decision == takeOver && r.Status != StatusReleased && s.ahead > c.cfg.margin:
			return nil, false, tooFarAhead(s.ahead, c.cfg.margin) // by the service's clock the record may not have expired
		case decision == takeOver:
			u = c.claimSeen(a, now, r, done)
		default:
			claim, err := c.answer(ctx, a, r, decision)
			return resultFrom(claim), err == nil, err
		}

		var t txn.Transaction
		// The record is the marker: if the answer is lost, the record names this call.
		t.Marker("claim", types.TransactWriteItem{Update: u.Part()})
		add(&t)

		err := c.writer.Write(ctx, &t)
		refused, isMarker := markerRefusal(err)

		if !isMarker {
			if err == nil {
				c.remember(a.key, finished{fingerprint: a.fingerprint, fence: u.fence, result: result, until: c.keepUntil(now, a.keyEnd)})
			}

			return result, false, err
		}

		if s, err = c.snapshotOf(ctx, a.key, refused); err != nil {
			return nil, false, err
		}
	}

	return nil, false, inProgressError{c.cfg.Now()}
}

// CompleteIn completes the claim in one transaction with the parts that add puts into it.
// The parts are written only if the claim is still this caller's. Work under [Claims.Do] may
// complete its claim this way; it must then return the same result.
func (c *Claim) CompleteIn(ctx context.Context, result []byte, add func(*txn.Transaction)) error {
	var t txn.Transaction
	switch {
	case c.Outcome == Untracked:
		// No record exists: the parts are written without one.
		add(&t)
		return c.claims.writer.Write(ctx, &t)
	case c.claims == nil || c.state.Load() != claimHeld:
		return c.observeError("complete", fmt.Errorf("%w: the claim is not held", ErrInvalid))
	case len(result) > c.claims.cfg.Inline:
		return c.observeError("complete", fmt.Errorf("%w: result: %d bytes, at most %d in a transaction", ErrInvalid, len(result), c.claims.cfg.Inline))
	}

	now := c.now()
	s, err := c.completion(ctx, now, result)
	if err != nil {
		return c.observeError("complete", err)
	}

	t.Marker("claim", types.TransactWriteItem{Update: c.update(now, s).Part()})
	add(&t)
	// A repeat of the call has the same token. If its body differs, the marker decides.
	t.Token(c.key, c.fence)

	err = c.claims.writer.Write(ctx, &t)
	if refused, isMarker := markerRefusal(err); isMarker {
		var next snapshot
		if next, err = c.claims.snapshotOf(ctx, c.key, refused); err == nil {
			err = c.refusal(now, s, next.record)
		}
	}

	if err == nil {
		c.state.Store(claimEnded)
		c.claims.remember(c.key, finished{fingerprint: c.fingerprint, fence: c.fence, result: result, until: s.keep})
	}

	return c.claims.observe(s.verb, c.key, s.outcome, err)
}

func resultFrom(c *Claim) []byte {
	if c == nil {
		return nil
	}

	return c.Result
}

// markerRefusal reports whether the marker's condition failed.
func markerRefusal(err error) (*txn.CanceledError, bool) {
	var refused *txn.CanceledError
	return refused, errors.As(err, &refused) && refused.Marker
}

// snapshotOf returns the record that failed the marker's condition.
func (c *Claims) snapshotOf(ctx context.Context, key string, refused *txn.CanceledError) (s snapshot, err error) {
	if len(refused.Old) == 0 {
		return c.read(ctx, key)
	}

	s.ahead = c.aheadOf(refused.Cancellation)
	s.record, err = decodeOptional(refused.Old)

	return s, err
}
