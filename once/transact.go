package once

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// DoInTransaction writes what add puts into a transaction, together with the record
// that it was done: all or nothing, in one request and without a lease. The result is
// stored with it and replayed. It may be added to nothing that names the key's own
// record. A refusal by one of the parts is returned as the part's own error; nothing
// is written then, and a later call is judged afresh.
func (c *Claims) DoInTransaction(ctx context.Context, key string, payload, result []byte, add func(*txn.Transaction)) (out []byte, replayed bool, err error) {
	a, err := c.newAttempt(key, payload, 0)
	if err == nil && len(result) > c.cfg.Inline {
		err = fmt.Errorf("%w: result: %d bytes, at most %d in a transaction", ErrInvalid, len(result), c.cfg.Inline)
	}

	if err != nil {
		return nil, false, c.tell("transact", key, "", err)
	}

	out, replayed, err = c.transact(ctx, a, result, add)
	outcome := Finished
	if replayed {
		outcome = Replayed
	}

	return out, replayed, c.tell("transact", key, outcome, err)
}

func (c *Claims) transact(ctx context.Context, a *attempt, result []byte, add func(*txn.Transaction)) ([]byte, bool, error) {
	if got, err := c.cached(a); got != nil || err != nil {
		return resultFrom(got), true, err
	}

	var s sight
	for range rounds {
		now, r := c.cfg.Now(), s.record
		var w write
		switch verdict := a.decide(r, now, c.cfg.Margin, c.cfg.ExpiredIsUnknown); {
		case r != nil && r.owner == a.owner && r.Status == StatusCompleted:
			return result, false, nil // it was this very call; the answer was lost
		case !a.keyEnd.IsZero() && !now.Before(a.keyEnd):
			return nil, false, ErrKeyExpired
		case verdict == claimFree:
			w = c.claimNew(a, now)
		case verdict == suspect || verdict == takeOver && r.Status == StatusInProgress:
			return nil, false, ErrUnknownOutcome // a holder with a lease began it, and may have had an effect
		case verdict == takeOver && r.Status != StatusReleased && s.ahead > c.cfg.Margin:
			return nil, false, tooFarAhead(s.ahead, c.cfg.Margin) // by the right clock it may not have expired
		case verdict == takeOver:
			w = c.claimSeen(a, now, r)
		default:
			got, err := c.answer(ctx, a, r, verdict)
			return resultFrom(got), err == nil, err
		}

		w.values[":to"] = dynamo.S(string(StatusCompleted))
		if result != nil {
			w.set += ", #result = :result"
			w.remove = strings.Replace(w.remove, "#result, ", "", 1)
			w.values[":result"] = dynamo.B(result)
		}
		var t txn.Transaction
		t.Marker("claim", types.TransactWriteItem{Update: c.item(w)})
		add(&t)

		err := c.writer.Write(ctx, &t)
		refused, is := marker(err)
		if !is {
			if err == nil {
				c.remember(a.key, finished{print: a.print, fence: w.fence, result: result, until: c.keepUntil(now, a.keyEnd)})
			}
			return result, false, err
		}

		if s, err = c.refusedBy(ctx, a.key, refused); err != nil {
			return nil, false, err
		}
	}

	return nil, false, held{c.cfg.Now()}
}

// CompleteIn ends the claim in one transaction with what add puts into it: what is
// written there counts exactly if the claim still does. Work under [Claims.Do] may end
// its claim so; it then returns the same result.
func (c *Claim) CompleteIn(ctx context.Context, result []byte, add func(*txn.Transaction)) error {
	var t txn.Transaction
	switch {
	case c.Outcome == Untracked:
		add(&t)
		return c.claims.writer.Write(ctx, &t)
	case c.claims == nil || c.state.Load() != claimHeld:
		return c.refuse("complete", fmt.Errorf("%w: the claim is not held", ErrInvalid))
	case len(result) > c.claims.cfg.Inline:
		return c.refuse("complete", fmt.Errorf("%w: result: %d bytes, at most %d in a transaction", ErrInvalid, len(result), c.claims.cfg.Inline))
	}

	now := c.now()
	s, err := c.completion(ctx, now, result)
	if err != nil {
		return c.refuse("complete", err)
	}
	t.Marker("claim", types.TransactWriteItem{Update: c.claims.item(c.write(now, s))})
	add(&t)
	t.Token(c.key, c.fence)

	err = c.claims.writer.Write(ctx, &t)
	if refused, is := marker(err); is {
		var next sight
		if next, err = c.claims.refusedBy(ctx, c.key, refused); err == nil {
			err = c.lost(now, s, next.record)
		}
	}

	if err == nil {
		c.state.Store(claimEnded)
		c.claims.remember(c.key, finished{print: c.print, fence: c.fence, result: result, until: s.keep})
	}

	return c.claims.tell(s.verb, c.key, s.outcome, err)
}

func resultFrom(c *Claim) []byte {
	if c == nil {
		return nil
	}
	return c.Result
}

func marker(err error) (*txn.Refused, bool) {
	var refused *txn.Refused
	return refused, errors.As(err, &refused) && refused.Marker
}

// refusedBy is the record that made the marker fail.
func (c *Claims) refusedBy(ctx context.Context, key string, refused *txn.Refused) (s sight, err error) {
	if len(refused.Old) == 0 {
		return c.see(ctx, key)
	}
	s.ahead = c.aheadOf(refused.Cancellation)
	s.record, err = known(refused.Old)

	return s, err
}
