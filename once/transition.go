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
	set     string // beyond status and time
	values  image
	// live demands that the lease has not run out.
	live bool
	// keep is when the record may count as absent; zero leaves that as it is, and
	// forEver takes it away.
	keep    time.Time
	forEver bool
	// done recognises the record that this very step leaves.
	done func(*Record) bool
}

// Complete stores the result and ends the claim. A nil error means that this claim's
// work counts: its result is what every later caller gets. A result above
// Config.Inline is put elsewhere first.
func (c *Claim) Complete(ctx context.Context, result []byte) error {
	if len(result) > MaxResult {
		return c.refuse("complete", fmt.Errorf("%w: result: %d bytes, at most %d", ErrInvalid, len(result), MaxResult))
	}

	now := c.now()
	s, err := c.completion(ctx, now, result)
	if err != nil {
		return c.refuse("complete", err)
	}

	if err := c.send(ctx, now, s); err != nil {
		return err
	}
	c.claims.remember(c.key, finished{print: c.print, fence: c.fence, result: result, until: s.keep})

	return nil
}

// completion puts a large result in its place and returns the step that points to it.
func (c *Claim) completion(ctx context.Context, now time.Time, result []byte) (step, error) {
	s := step{verb: "complete", outcome: Finished, status: StatusCompleted, live: true, keep: c.keepUntil(now), values: image{}}
	switch {
	case c.claims == nil || c.state.Load() != claimHeld:
	case len(result) > c.claims.cfg.Inline:
		p, err := c.claims.store(ctx, c, result, s.keep)
		if err != nil {
			return s, err
		}
		s.set = ", #ref = :ref, #refHash = :refHash, #size = :size"
		s.values[":ref"], s.values[":refHash"] = dynamo.S(p.name), dynamo.B(p.hash)
		s.values[":size"] = dynamo.N(int64(len(result)))
		s.done = func(r *Record) bool { return bytes.Equal(r.pointer.hash, p.hash) }

		return s, nil
	case result != nil:
		s.set, s.values[":result"] = ", #result = :result", dynamo.B(result)
	}
	s.done = func(r *Record) bool { return bytes.Equal(r.result, result) && !r.lost }

	return s, nil
}

// completeWithout ends the claim and says that its result was not kept.
func (c *Claim) completeWithout(ctx context.Context) error {
	now := c.now()
	return c.send(ctx, now, step{verb: "complete", outcome: Finished, status: StatusCompleted, live: true, keep: c.keepUntil(now),
		set: ", #lost = :lost", values: image{":lost": dynamo.N(1)}, done: func(r *Record) bool { return r.lost }})
}

// Fail ends the claim with a final failure, which every later caller gets.
func (c *Claim) Fail(ctx context.Context, f *Failure) error {
	if f == nil || f.Code == "" {
		return c.refuse("fail", fmt.Errorf("%w: a failure needs a code", ErrInvalid))
	}
	now, text := c.now(), f.encode()

	return c.send(ctx, now, step{verb: "fail", outcome: FailedFinal, status: StatusFailed, live: true, keep: c.keepUntil(now),
		set: ", #failure = :failure", values: image{":failure": dynamo.B(text)},
		done: func(r *Record) bool { return bytes.Equal(r.failure, text) }})
}

// Unknown ends the claim without knowing what the work did. The record stays until
// [Claims.Resolve] moves it on.
func (c *Claim) Unknown(ctx context.Context) error {
	return c.send(ctx, c.now(), step{verb: "unknown", outcome: LeftUnknown, status: StatusUnknown, live: true, forEver: true})
}

// Release gives the key back: the work was not done, or its effect was undone. The
// next caller may claim the key at once.
func (c *Claim) Release(ctx context.Context) error {
	now := c.now()
	return c.send(ctx, now, step{verb: "release", outcome: GivenBack, status: StatusReleased, keep: c.keepUntil(now)})
}

// Extend begins the lease anew.
func (c *Claim) Extend(ctx context.Context) error {
	now := c.now()
	until := now.Add(c.lease).UnixMilli()
	s := step{verb: "extend", outcome: Extended, status: StatusInProgress, live: true, set: ", #lease = :lease",
		values: image{":lease": dynamo.N(until)}, done: func(r *Record) bool { return r.LeaseUntil.UnixMilli() == until }}
	if c.claims != nil && !c.claims.cfg.ExpiredIsUnknown {
		s.keep = c.keepUntil(now)
	}

	sent := time.Now()
	err := c.send(ctx, now, s)
	if err == nil {
		c.leasedFrom(sent)
	}

	return err
}

// leasedFrom remembers that the lease began anew with a request that was sent then.
func (c *Claim) leasedFrom(sent time.Time) {
	end := sent.Add(c.lease)
	c.end.Store(&end)
}

// send sends the step and recognises it when it had been carried out before.
func (c *Claim) send(ctx context.Context, now time.Time, s step) error {
	if c.Outcome == Untracked {
		return nil
	}

	if c.claims == nil || c.state.Load() == claimGiven {
		return c.refuse(s.verb, fmt.Errorf("%w: the claim is not held", ErrInvalid))
	}

	won, next, err := c.claims.apply(ctx, c.write(now, s))
	if err == nil && !won {
		err = c.lost(now, s, next.record)
	}

	if err == nil && s.status != StatusInProgress {
		c.state.Store(claimEnded)
	}

	return c.claims.tell(s.verb, c.key, s.outcome, err)
}

// write is the step as a conditional update.
func (c *Claim) write(now time.Time, s step) write {
	w := write{key: c.key, condition: "#owner = :owner AND #fence = :fence AND #status = :inProgress",
		set: "#status = :status, #updated = :now" + s.set,
		values: image{":owner": dynamo.S(c.owner), ":fence": dynamo.N(c.fence), ":inProgress": dynamo.S(string(StatusInProgress)),
			":status": dynamo.S(string(s.status)), ":now": dynamo.N(now.UnixMilli())}}
	for name, v := range s.values {
		w.values[name] = v
	}

	if s.live {
		w.condition += " AND #lease > :now"
	}

	switch {
	case s.forEver:
		w.remove = "#expires"
	case !s.keep.IsZero():
		w.set += ", #expires = :expires"
		w.values[":expires"] = dynamo.N(s.keep.Unix())
	}

	return w
}

// lost says why the condition of a step failed; nil when the step had been carried
// out and its answer was lost.
func (c *Claim) lost(now time.Time, s step, r *Record) error {
	switch {
	case r == nil || r.owner != c.owner || r.Fence != c.fence:
		return ErrStaleOwner
	case r.Status == s.status && (s.done == nil || s.done(r)):
		return nil
	case r.Status == StatusInProgress && !now.Before(r.LeaseUntil):
		return ErrLeaseExpired
	case r.Status == StatusUnknown && s.status != StatusUnknown:
		return fmt.Errorf("%w: its outcome is unknown", ErrStaleOwner)
	}

	return fmt.Errorf("%w as %s", ErrEnded, r.Status)
}

func (c *Claim) refuse(verb string, err error) error {
	if c.claims == nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return c.claims.tell(verb, c.key, "", err)
}

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
