package once

import (
	"bytes"
	"context"
	"errors"
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
	change func(u *dynamo.Update, now time.Time)
	// needsLease makes the step fail if the lease has run out.
	needsLease bool
	// end says what the step does with the end of the record.
	end recordEnd
	// done recognizes the record that this very step leaves; nil if the status is enough.
	done func(*Record) bool
}

// recordEnd says what becomes of the time from which a record counts as absent.
type recordEnd int

const (
	sameEnd recordEnd = iota
	newEnd            // the retention begins again
	noEnd             // the record stays
)

// Complete stores the result and ends the claim. A nil error means that every later caller
// gets this result. A result larger than Config.Inline is put into Config.Results first. If that
// fails, the claim is still held.
func (c *Claim) Complete(ctx context.Context, result []byte) error {
	if len(result) > maxResult {
		return c.observeError("complete", fmt.Errorf("%w: result: %d bytes, at most %d", ErrInvalid, len(result), maxResult))
	}

	s, err := c.completion(ctx, result)
	if err != nil {
		return c.observeError("complete", err)
	}

	keep, err := c.send(ctx, s)
	if err != nil || c.Outcome == Untracked {
		return err
	}
	c.claims.remember(c.key, finished{fingerprint: c.fingerprint, fence: c.fence, result: result, until: keep})

	return nil
}

// completion returns the step that completes the claim. It puts a large result in its
// place first, so that a completed record never points to a missing result.
func (c *Claim) completion(ctx context.Context, result []byte) (step, error) {
	s := step{verb: "complete", outcome: outcomeCompleted, status: StatusCompleted, needsLease: true, end: newEnd}
	switch {
	case c.claims == nil || c.state.Load() == claimNotHeld:
		// send refuses the step.
	case len(result) > c.claims.cfg.Inline:
		if err := c.learn(ctx); err != nil {
			return s, err
		}

		p, err := c.claims.storeResult(ctx, c, result, c.claims.keepUntil(c.claims.clock.Now(), c.keyEnd))
		if err != nil {
			return s, fmt.Errorf("store the result: %w", err)
		}

		s.change = func(u *dynamo.Update, _ time.Time) {
			u.SetValue(attrRef, dynamo.S(p.name)).
				SetValue(attrRefHash, dynamo.B(p.hash)).
				SetValue(attrSize, dynamo.N(int64(len(result))))
		}
		s.done = func(r *Record) bool { return bytes.Equal(r.pointer.hash, p.hash) }

		return s, nil
	case result != nil:
		s.change = func(u *dynamo.Update, _ time.Time) { u.SetValue(attrResult, dynamo.B(result)) }
	}
	s.done = func(r *Record) bool { return bytes.Equal(r.result, result) && !r.lost }

	return s, nil
}

// completeWithoutResult ends the claim and stores that its result was not kept.
func (c *Claim) completeWithoutResult(ctx context.Context) error {
	_, err := c.send(ctx, step{
		verb:       "complete",
		outcome:    outcomeCompleted,
		status:     StatusCompleted,
		needsLease: true,
		end:        newEnd,
		change:     func(u *dynamo.Update, _ time.Time) { u.SetValue(attrLost, dynamo.N(1)) },
		done:       func(r *Record) bool { return r.lost },
	})

	return err
}

// Fail ends the claim with a final failure, which every later caller gets.
func (c *Claim) Fail(ctx context.Context, f *Failure) error {
	if f == nil || f.Code == "" {
		return c.observeError("fail", fmt.Errorf("%w: a failure needs a code", ErrInvalid))
	}
	text := f.encode()

	_, err := c.send(ctx, step{
		verb:       "fail",
		outcome:    outcomeFailed,
		status:     StatusFailed,
		needsLease: true,
		end:        newEnd,
		change:     func(u *dynamo.Update, _ time.Time) { u.SetValue(attrFailure, dynamo.B(text)) },
		done:       func(r *Record) bool { return bytes.Equal(r.failure, text) },
	})

	return err
}

// Unknown ends the claim with an unknown outcome. The record stays as it is until
// [Claims.Resolve] is called.
func (c *Claim) Unknown(ctx context.Context) error {
	_, err := c.send(ctx, step{
		verb:       "unknown",
		outcome:    outcomeLeftUnknown,
		status:     StatusUnknown,
		needsLease: true,
		end:        noEnd,
	})

	return err
}

// Release frees the key: this holder has not done the work, or has undone its effect. The
// next caller may claim the key at once. It is TakenOver if this claim was, because Release
// says nothing about the effect of former holders. [Claims.Resolve] does.
func (c *Claim) Release(ctx context.Context) error { return c.release(ctx, c.Outcome == TakenOver) }

// release frees the key. If the work may have begun, the record says so and does not expire.
func (c *Claim) release(ctx context.Context, begun bool) error {
	s := step{verb: "release", outcome: outcomeReleased, status: StatusReleased, end: newEnd}

	if begun {
		s.change = func(u *dynamo.Update, _ time.Time) { u.SetValue(attrBegun, dynamo.N(1)) }
		if c.keyEnd.IsZero() {
			s.end = noEnd
		}
	}

	_, err := c.send(ctx, s)

	return err
}

// Extend starts the lease again from now.
func (c *Claim) Extend(ctx context.Context) error {
	var until time.Time
	s := step{
		verb:       "extend",
		outcome:    outcomeExtended,
		status:     StatusInProgress,
		needsLease: true,
		end:        newEnd,
		change: func(u *dynamo.Update, now time.Time) {
			until = now.Add(c.lease)
			u.SetValue(attrLease, dynamo.Millis(until))
		},
		done: func(r *Record) bool { return r.LeaseUntil.UnixMilli() == until.UnixMilli() },
	}

	switch {
	case c.Outcome == TakenOver && c.keyEnd.IsZero():
		s.end = noEnd
	case c.claims != nil && c.claims.cfg.ExpiredIsUnknown:
		s.end = sameEnd // the record has none
	}

	sent := time.Now()
	_, err := c.send(ctx, s)
	if err == nil {
		c.startLease(sent)
	}

	return err
}

// send sends the step. It returns nil if an earlier sending of the step was carried out, and the time
// until which the record is kept. If the answer shows that this machine's clock is wrong, the step is
// decided again.
func (c *Claim) send(ctx context.Context, s step) (keep time.Time, err error) {
	if c.Outcome == Untracked {
		// There is no record to update (see Config.FailOpen).
		return keep, nil
	}

	if c.claims == nil || c.state.Load() == claimNotHeld {
		return keep, c.observeError(s.verb, fmt.Errorf("%w: the claim is not held", ErrInvalid))
	}

	if err = c.learn(ctx); err == nil {
		keep, err = c.write(ctx, s)
	}

	if err == nil && s.status != StatusInProgress {
		c.state.Store(claimEnded)
	}

	return keep, c.claims.observe(s.verb, c.key, s.outcome, err)
}

func (c *Claim) write(ctx context.Context, s step) (keep time.Time, err error) {
	var now time.Time
	again := false // the step was carried out with wrong times
	build := func(at time.Time) *dynamo.Update {
		now, keep = at, c.claims.keepUntil(at, c.keyEnd)
		return c.update(now, keep, s, again)
	}

	for range rounds {
		applied, next, err := c.claims.apply(ctx, c.key, build)
		switch {
		case err != nil:
			return keep, err
		case applied && next.misdated:
			again = true
			continue
		case applied:
			return keep, nil
		}

		err = c.refusal(now, s, next.record)
		if !c.decidedTooLate(err, next.record) {
			return keep, err
		}
	}

	return keep, ErrLeaseExpired
}

// decidedTooLate reports whether a step found its lease over by a clock that the refusal has corrected:
// by the service's time the lease still runs.
func (c *Claim) decidedTooLate(err error, r *Record) bool {
	return errors.Is(err, ErrLeaseExpired) && r != nil && c.claims.clock.Now().Before(r.LeaseUntil)
}

// learn asks for the service's time if nothing was heard, which only a resumed claim can meet.
func (c *Claim) learn(ctx context.Context) error {
	if c.end.Load() != nil {
		return nil
	}

	return c.claims.learn(ctx)
}

// update returns the step as a conditional update. The condition on owner and fence keeps
// a former holder from changing the record of its successor. If the step was carried out, the update
// only writes its times again.
func (c *Claim) update(now, keep time.Time, s step, again bool) *dynamo.Update {
	from := StatusInProgress
	if again {
		from = s.status
	}

	u := c.claims.newUpdate(c.key).
		IfEquals(attrOwner, dynamo.S(c.owner)).
		IfEquals(attrFence, dynamo.N(c.fence)).
		IfEquals(attrStatus, dynamo.S(string(from))).
		SetValue(attrStatus, dynamo.S(string(s.status))).
		Set("#updatedAt = :now").
		Bind(":now", dynamo.Millis(now))

	if s.needsLease && !again {
		u.If("#leaseUntil > :now")
	}

	if s.change != nil {
		s.change(u, now)
	}

	if s.status == StatusCompleted || s.status == StatusFailed {
		// The outcome is known, so an effect of a former holder no longer matters.
		u.RemoveAttribute(attrBegun)
	}

	switch s.end {
	case noEnd:
		u.RemoveAttribute(ExpiryAttribute)
	case newEnd:
		u.SetValue(ExpiryAttribute, dynamo.Seconds(keep))
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

	return endedError{r.Status}
}

// observeError reports the error of a step that was not sent.
func (c *Claim) observeError(verb string, err error) error {
	if c.claims == nil {
		return fmt.Errorf("%s: %w", verb, err)
	}

	return c.claims.observe(verb, c.key, "", err)
}
