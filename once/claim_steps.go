package once

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// step is one write of a claim's holder.
type step struct {
	verb    string
	outcome Outcome
	status  Status
	// change adds the step's assignments beside status and time; nil for none.
	change func(*dynamo.Update)
	// needsLease makes the step fail if the lease has run out.
	needsLease bool
	// keep is when the record may count as absent. Zero leaves the record's expiry as it is;
	// stays removes the expiry.
	keep  time.Time
	stays bool
	// done recognizes the record that this very step leaves; nil if the status is enough.
	done func(*Record) bool
}

// Complete stores the result and ends the claim. A nil error means that every later caller
// gets this result. A result larger than Config.Inline is put into Config.Results first.
func (c *Claim) Complete(ctx context.Context, result []byte) error {
	if len(result) > maxResult {
		return c.observeError("complete", fmt.Errorf("%w: result: %d bytes, at most %d", ErrInvalid, len(result), maxResult))
	}

	now := c.now()
	s, err := c.completion(ctx, now, result)
	if err != nil {
		return c.observeError("complete", err)
	}

	if err := c.send(ctx, now, s); err != nil {
		return err
	}
	c.claims.remember(c.key, finished{fingerprint: c.fingerprint, fence: c.fence, result: result, until: s.keep})

	return nil
}

// completion returns the step that completes the claim. It puts a large result in its
// place first, so that a completed record never points to a missing result.
func (c *Claim) completion(ctx context.Context, now time.Time, result []byte) (step, error) {
	s := step{verb: "complete", outcome: outcomeCompleted, status: StatusCompleted, needsLease: true, keep: c.keepUntil(now)}
	switch {
	case c.claims == nil || c.state.Load() == claimNotHeld:
		// send refuses the step.
	case len(result) > c.claims.cfg.Inline:
		p, err := c.claims.storeResult(ctx, c, result, s.keep)
		if err != nil {
			return s, err
		}

		s.change = func(u *dynamo.Update) {
			u.SetValue(attrRef, dynamo.S(p.name)).
				SetValue(attrRefHash, dynamo.B(p.hash)).
				SetValue(attrSize, dynamo.N(int64(len(result))))
		}
		s.done = func(r *Record) bool { return bytes.Equal(r.pointer.hash, p.hash) }

		return s, nil
	case result != nil:
		s.change = func(u *dynamo.Update) { u.SetValue(attrResult, dynamo.B(result)) }
	}
	s.done = func(r *Record) bool { return bytes.Equal(r.result, result) && !r.lost }

	return s, nil
}

// completeWithoutResult ends the claim and stores that its result was not kept.
func (c *Claim) completeWithoutResult(ctx context.Context) error {
	now := c.now()

	return c.send(ctx, now, step{
		verb:       "complete",
		outcome:    outcomeCompleted,
		status:     StatusCompleted,
		needsLease: true,
		keep:       c.keepUntil(now),
		change:     func(u *dynamo.Update) { u.SetValue(attrLost, dynamo.N(1)) },
		done:       func(r *Record) bool { return r.lost },
	})
}

// Fail ends the claim with a final failure, which every later caller gets.
func (c *Claim) Fail(ctx context.Context, f *Failure) error {
	if f == nil || f.Code == "" {
		return c.observeError("fail", fmt.Errorf("%w: a failure needs a code", ErrInvalid))
	}
	now, text := c.now(), f.encode()

	return c.send(ctx, now, step{
		verb:       "fail",
		outcome:    outcomeFailed,
		status:     StatusFailed,
		needsLease: true,
		keep:       c.keepUntil(now),
		change:     func(u *dynamo.Update) { u.SetValue(attrFailure, dynamo.B(text)) },
		done:       func(r *Record) bool { return bytes.Equal(r.failure, text) },
	})
}

// Unknown ends the claim with an unknown outcome. The record stays as it is until
// [Claims.Resolve] is called.
func (c *Claim) Unknown(ctx context.Context) error {
	return c.send(ctx, c.now(), step{
		verb:       "unknown",
		outcome:    outcomeLeftUnknown,
		status:     StatusUnknown,
		needsLease: true,
		stays:      true,
	})
}

// Release frees the key: this holder has not done the work, or has undone its effect. The
// next caller may claim the key at once. It is TakenOver if this claim was, because Release
// says nothing about the effect of former holders. [Claims.Resolve] does.
func (c *Claim) Release(ctx context.Context) error { return c.release(ctx, c.Outcome == TakenOver) }

// release frees the key. If the work may have begun, the record says so and does not expire.
func (c *Claim) release(ctx context.Context, begun bool) error {
	now := c.now()
	s := step{verb: "release", outcome: outcomeReleased, status: StatusReleased, keep: c.keepUntil(now)}

	if begun {
		s.change = func(u *dynamo.Update) { u.SetValue(attrBegun, dynamo.N(1)) }
		s.stays = c.keyEnd.IsZero()
	}

	return c.send(ctx, now, s)
}

// Extend starts the lease again from now.
func (c *Claim) Extend(ctx context.Context) error {
	now := c.now()
	until := now.Add(c.lease)

	s := step{
		verb:       "extend",
		outcome:    outcomeExtended,
		status:     StatusInProgress,
		needsLease: true,
		change:     func(u *dynamo.Update) { u.SetValue(attrLease, dynamo.Millis(until)) },
		done:       func(r *Record) bool { return r.LeaseUntil.UnixMilli() == until.UnixMilli() },
	}
	// A record that must not expire (see stays) still has no end.
	if c.claims != nil && !c.claims.cfg.ExpiredIsUnknown && !(c.begun && c.keyEnd.IsZero()) {
		s.keep = c.keepUntil(now)
	}

	sent := time.Now()
	err := c.send(ctx, now, s)
	if err == nil {
		c.startLease(sent)
	}

	return err
}

// send sends the step. It returns nil if an earlier sending of the step was carried out.
func (c *Claim) send(ctx context.Context, now time.Time, s step) error {
	if c.Outcome == Untracked {
		// There is no record to update (see Config.FailOpen).
		return nil
	}

	if c.claims == nil || c.state.Load() == claimNotHeld {
		return c.observeError(s.verb, fmt.Errorf("%w: the claim is not held", ErrInvalid))
	}

	applied, next, err := c.claims.apply(ctx, c.key, c.update(now, s))
	if err == nil && !applied {
		err = c.refusal(now, s, next.record)
	}

	if err == nil && s.status != StatusInProgress {
		c.state.Store(claimEnded)
	}

	return c.claims.observe(s.verb, c.key, s.outcome, err)
}

// update returns the step as a conditional update. The condition on owner and fence keeps
// a former holder from changing the record of its successor.
func (c *Claim) update(now time.Time, s step) *dynamo.Update {
	u := c.claims.newUpdate(c.key).
		IfEquals(attrOwner, dynamo.S(c.owner)).
		IfEquals(attrFence, dynamo.N(c.fence)).
		IfEquals(attrStatus, dynamo.S(string(StatusInProgress))).
		SetValue(attrStatus, dynamo.S(string(s.status))).
		Set("#updatedAt = :now").
		Bind(":now", dynamo.Millis(now))

	if s.needsLease {
		u.If("#leaseUntil > :now")
	}

	if s.change != nil {
		s.change(u)
	}

	if s.status == StatusCompleted || s.status == StatusFailed {
		// The outcome is known, so an effect of a former holder no longer matters.
		u.RemoveAttribute(attrBegun)
	}

	switch {
	case s.stays:
		u.RemoveAttribute(ExpiryAttribute)
	case !s.keep.IsZero():
		u.SetValue(ExpiryAttribute, dynamo.Seconds(s.keep))
	}

	return u
}

// refusal returns the reason why the condition of a step failed on the record, or nil if
// the step had been carried out and its answer was lost.
func (c *Claim) refusal(now time.Time, s step, r *Record) error {
	switch {
	case r == nil || r.owner != c.owner || r.Fence != c.fence:
		return ErrStaleOwner
	// This is checked before the lease: a step that was carried out counts, even if the lease has
	// run out since.
	case r.Status == s.status && (s.done == nil || s.done(r)):
		return nil
	case r.Status == StatusInProgress && !now.Before(r.LeaseUntil):
		return ErrLeaseExpired
	case r.Status == StatusUnknown && s.status != StatusUnknown:
		return fmt.Errorf("%w: its outcome is unknown", ErrStaleOwner)
	}

	return fmt.Errorf("%w as %s", ErrEnded, r.Status)
}

// observeError reports the error of a step that was not sent.
func (c *Claim) observeError(verb string, err error) error {
	if c.claims == nil {
		return fmt.Errorf("%s: %w", verb, err)
	}

	return c.claims.observe(verb, c.key, "", err)
}

// now and keepUntil return the zero time for the zero Claim, which send refuses.
func (c *Claim) now() time.Time {
	if c.claims == nil {
		return time.Time{}
	}

	return c.claims.cfg.Now()
}

func (c *Claim) keepUntil(now time.Time) time.Time {
	if c.claims == nil {
		return time.Time{}
	}

	return c.claims.keepUntil(now, c.keyEnd)
}
