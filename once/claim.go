package once

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"ratchet/internal/dynamo"
)

// Claim is a key that this caller holds, or whose work was done before.
type Claim struct {
	// Outcome is Acquired, TakenOver, Replayed or Untracked. After TakenOver another caller,
	// or an earlier sending of the same [Claims.ClaimAs], may have begun the work. Ask the
	// far side what became of the work. If this caller releases the key, the next caller is
	// TakenOver, too.
	Outcome Outcome
	// Result is the result of the work, if the claim is Replayed.
	Result []byte

	key, owner  string
	fence       int64
	lease       time.Duration
	fingerprint []byte
	keyEnd      time.Time
	claims      *Claims
	state       atomic.Int32
	// end is when the lease ends, by the monotonic clock. It counts from before the claim, or
	// the last answered extension, was sent. It is nil for a resumed claim.
	end atomic.Pointer[time.Time]
}

// The values of Claim.state.
const (
	claimNotHeld int32 = iota // a replay
	claimHeld
	claimEnded
)

// Fence returns the number of this claim. It is larger than the fence of every earlier claim
// of the key, also after the record was deleted. A write that is conditional on the fence
// refuses former holders.
func (c *Claim) Fence() int64 { return c.fence }

// newClaim returns the claim that the attempt has made.
func (c *Claims) newClaim(a *attempt, fence int64) *Claim {
	claim := &Claim{
		Outcome:     Acquired,
		key:         a.key,
		owner:       a.owner,
		fence:       fence,
		lease:       a.lease,
		fingerprint: a.fingerprint,
		keyEnd:      a.keyEnd,
		claims:      c,
	}
	if a.tookOver {
		claim.Outcome = TakenOver
	}
	claim.state.Store(claimHeld)
	claim.startLease(a.sent)

	return claim
}

// earlierClaim returns the claim that an earlier sending of the attempt has made. A repeat of
// a named request may ask for another lease, and gets the lease of the record.
func (c *Claims) earlierClaim(a *attempt, r *Record) *Claim {
	a.tookOver = r.MayHaveBegun
	claim := c.newClaim(a, r.Fence)

	if a.named {
		claim.Outcome = TakenOver
		claim.lease = r.LeaseUntil.Sub(r.UpdatedAt) // each start of the lease is an update
		now := time.Now()                           // before the other clock, so that the end is not too late
		end := now.Add(r.LeaseUntil.Sub(c.clock.Now()))
		claim.end.Store(&end)
	}

	return claim
}

// startLease notes that the lease began with a request that was sent then.
func (c *Claim) startLease(sent time.Time) {
	end := sent.Add(c.lease)
	c.end.Store(&end)
}

// Claim claims the key, or returns the result of the caller that completed it. The payload is
// the input of the work; all callers under one key must bring the same payload. Claim returns
// a [Failure] if the work failed for good, and ErrInProgress, ErrMismatch,
// ErrUnknownOutcome or ErrKeyExpired if the key cannot be claimed. After ErrUnanswered the key may
// be claimed until the lease ends.
func (c *Claims) Claim(ctx context.Context, key string, payload []byte) (*Claim, error) {
	return c.claim(ctx, key, payload, c.cfg.Lease)
}

// ClaimAs is Claim for a request that may be sent again because its answer was lost. While
// the lease lasts, a repeat under the same request name gets the same claim, as TakenOver,
// because its work may have begun. The lease is the first one's, and is not extended. No other
// caller may be able to guess the name.
func (c *Claims) ClaimAs(ctx context.Context, request, key string, payload []byte) (*Claim, error) {
	a, err := c.newAttempt(ctx, key, payload, c.cfg.Lease)
	if err == nil && request == "" {
		err = fmt.Errorf("%w: request: must not be empty", ErrInvalid)
	}

	if err == nil {
		a.nameOwner(request)
		err = c.learn(ctx) // another sending may work by the times of this one, which then cannot be corrected
	}

	return c.claimFor(ctx, key, a, err)
}

func (c *Claims) claim(ctx context.Context, key string, payload []byte, lease time.Duration) (*Claim, error) {
	a, err := c.newAttempt(ctx, key, payload, lease)
	return c.claimFor(ctx, key, a, err)
}

// claimFor carries out the attempt and reports the outcome. If err says why there is no
// attempt, claimFor only reports err.
func (c *Claims) claimFor(ctx context.Context, key string, a *attempt, err error) (*Claim, error) {
	if err != nil {
		return nil, c.observe("claim", key, "", err)
	}

	claim, err := c.cached(a)
	switch {
	case claim != nil || err != nil:
	case a.invalid != nil:
		claim, err = c.refuse(ctx, a, a.invalid)
	default:
		claim, err = c.acquire(ctx, a)
	}

	if err == nil {
		return claim, c.observe("claim", key, claim.Outcome, nil)
	}

	return nil, c.observe("claim", key, "", err)
}

// refuse answers a call whose arguments this configuration refuses: as the record says, or with the
// refusal if the key could be claimed. It writes nothing.
func (c *Claims) refuse(ctx context.Context, a *attempt, refusal error) (*Claim, error) {
	s, err := c.read(ctx, a.key)
	if err != nil {
		return nil, err
	}

	switch decision := a.decide(s.record, c.clock.Now(), c.cfg.margin, c.cfg.ExpiredIsUnknown); decision {
	case claimFree, takeOver, ours:
		return nil, refusal
	case leaseRanOut:
		return nil, ErrUnknownOutcome
	default:
		return c.answer(ctx, a, s.record, decision)
	}
}

// rounds bounds how often a call starts again because the record changed between its read
// and its write.
const rounds = 4

// acquire claims a key that is assumed to be free, and waits if the caller wants that.
func (c *Claims) acquire(ctx context.Context, a *attempt) (*Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	claim, err := c.resolve(ctx, a, snapshot{})
	if c.wait > 0 && errors.Is(err, ErrInProgress) {
		select {
		case c.waiting <- struct{}{}:
			defer func() { <-c.waiting }()

			return c.await(ctx, a, err)
		default: // too many calls wait
		}
	}

	return claim, err
}

// resolve decides on the snapshot of the record: it claims the key, marks the outcome as
// unknown, or answers. If a write fails its condition, it starts again with the record that
// the failed condition returns. It also starts again if the answer to a write shows that this machine's
// clock is wrong, because the decision was made by that clock.
func (c *Claims) resolve(ctx context.Context, a *attempt, s snapshot) (*Claim, error) {
	var own int64 // the fence of this call's own claim with wrong times, 0 for none
	for range rounds {
		now := c.clock.Now()
		decision := a.decide(s.record, now, c.cfg.margin, c.cfg.ExpiredIsUnknown)

		switch {
		case own != 0:
		case a.keyEnded(now):
			return nil, ErrKeyExpired
		case decision == ours && !a.named && c.misdated(a, s.record):
			own, a.tookOver = s.record.Fence, s.record.MayHaveBegun
		case decision != claimFree && decision != takeOver && decision != leaseRanOut:
			return c.answer(ctx, a, s.record, decision)
		}

		var u claimUpdate
		build := func(now time.Time) *dynamo.Update {
			switch {
			case own != 0:
				u = c.claimAgain(a, now, own)
			case decision == claimFree:
				u = c.claimNew(a, now, inProgress)
			case decision == leaseRanOut:
				u = c.markUnknown(now, s.record)
			default:
				u = c.claimSeen(a, now, s.record, inProgress)
			}

			return u.Update
		}

		// Taken before the write: the time until the answer is a part of the lease.
		a.sent, a.local = time.Now(), c.clock.LocalNow()
		applied, next, err := c.apply(ctx, a.key, build)

		switch {
		case err != nil:
			if ctx.Err() != nil {
				c.undo(ctx, a) // the write may have been made
			}

			return nil, err
		case !applied && own != 0:
			own, s = 0, next
		case !applied:
			s = next
		case next.misdated && (own != 0 || s.record == nil):
			own = u.fence
		case next.misdated:
			if s, err = c.giveBack(ctx, a.key, s, u); err != nil {
				return nil, err
			}
		// The write has stored the unknown outcome. The key is not claimed.
		case own == 0 && decision == leaseRanOut:
			return nil, ErrUnknownOutcome
		case a.keyEnded(c.clock.Now()):
			c.undo(ctx, a)
			return nil, ErrKeyExpired
		default:
			return c.newClaim(a, u.fence), nil
		}
	}

	return nil, c.inProgress(c.clock.Now()) // the record changes faster than this caller reads it
}

// misdated reports whether this call's own record has times from before the call or after it: its
// answer was lost, and this machine's clock was wrong.
func (c *Claims) misdated(a *attempt, r *Record) bool {
	from, to := c.clock.Service(a.local).Add(-c.cfg.margin), c.clock.Now().Add(c.cfg.margin)

	return r.ClaimedAt.Before(from) || r.ClaimedAt.After(to)
}

// inProgress returns the error for a key that becomes free at a time of the service.
func (c *Claims) inProgress(until time.Time) error {
	return inProgressError{until: c.clock.LocalAt(until)}
}

// answer returns the answer of a record that cannot be claimed.
func (c *Claims) answer(ctx context.Context, a *attempt, r *Record, d decision) (*Claim, error) {
	switch d {
	case ours:
		return c.earlierClaim(a, r), nil
	case replay:
		result, err := c.resultOf(ctx, r)
		if err != nil {
			return nil, err
		}
		c.remember(a.key, finished{fingerprint: r.fingerprint, fence: r.Fence, result: result, until: r.ExpiresAt})

		return &Claim{Outcome: Replayed, Result: result, key: a.key, fence: r.Fence, claims: c}, nil
	case replayFailure:
		failure, _ := decodeFailure(r.failure, c.cfg.Failures) // decode has read it before
		c.remember(a.key, finished{fingerprint: r.fingerprint, failure: failure, until: r.ExpiresAt})

		return nil, failure
	case refuseUnknown:
		return nil, ErrUnknownOutcome
	case refuseInProgress:
		// The holder's clock may be a margin behind, and this caller's a margin ahead.
		return nil, inProgressError{until: c.clock.LocalAt(r.LeaseUntil.Add(2 * c.cfg.margin)), since: c.clock.LocalAt(r.ClaimedAt)}
	}

	return nil, ErrMismatch
}
