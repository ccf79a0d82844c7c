package actions

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// The bounds of a hold.
const (
	minHold = time.Second
	maxHold = 24 * time.Hour
)

// Reserve holds the action for Request.Holder, for 1 s to 24 h. No other caller can use the
// action until then. The holder passes the result's Fence to Consume or Release. If the same
// holder reserves again during the hold, it gets the same hold. Reserve costs as much as
// Consume.
func (a *Actions) Reserve(ctx context.Context, r Request, d time.Duration) (Result, error) {
	return a.run(ctx, "reserve", r, func(c *call) (Result, error) {
		switch {
		case r.Holder == "" || r.Fence != 0:
			return Result{}, invalid("holder: must be set, and fence not")
		case d < minHold || d > maxHold:
			return Result{}, invalid(fmt.Sprintf("hold %s: %s to %s", d, minHold, maxHold))
		}

		hold := func(u *dynamo.Update) {
			u.Set("holder = :holder").
				Set("holdUntil = :until").
				// A new number for each hold keeps the holder of an earlier one out.
				Set("fence = if_not_exists(fence, :zero) + :one").
				Bind(":until", dynamo.Millis(c.now.Add(d))).
				Bind(":zero", dynamo.N(0)).
				Bind(":one", dynamo.N(1))
		}

		return a.use(ctx, c, hold, func(rec record, updated bool) (Result, bool) {
			holdsAlready := equal(rec.holder, c.Holder) && rec.holdStands(c.now, 0)
			return rec.reservation(!updated), updated || holdsAlready
		})
	})
}

// Release ends the hold that Request.Holder and Fence name. A hold that has run out, or
// under which the action was used, cannot be released. It costs one write.
func (a *Actions) Release(ctx context.Context, r Request) (Result, error) {
	return a.run(ctx, "release", r, func(c *call) (Result, error) {
		if r.Holder == "" || r.Fence == 0 {
			return Result{}, invalid("holder and fence: must be set")
		}

		rec, updated, err := a.send(ctx, c, func(update *dynamo.Update) {
			update.If("#status = :open AND expiresAt > :now").
				// Holder and fence stay, so that a repeat recognizes its own release.
				Set("holdUntil = :zero").
				Bind(":open", dynamo.S(open)).
				Bind(":now", dynamo.Millis(c.now)).
				Bind(":zero", dynamo.N(0))
			update.If(c.noOtherHold(update, a.cfg))
		})
		switch {
		case err != nil:
			return Result{}, err
		case updated:
			return Result{Outcome: Released}, nil
		}

		c.owner = true // neither the PIN nor ActiveAt matters for a release
		result, err := a.refusal(ctx, c, rec, func(rec record, _ bool) (Result, bool) {
			if c.ownsHold(rec) && rec.holdUntil.IsZero() {
				return Result{Outcome: Released, Replayed: true}, true
			}

			return Result{Outcome: HoldLost}, true
		})

		return Result{Outcome: result.Outcome, Replayed: result.Replayed}, err
	})
}

// reservation is the answer to the holder.
func (r record) reservation(replayed bool) Result {
	return Result{
		Outcome:   Reserved,
		Payload:   r.payload,
		ExpiresAt: r.expiresAt,
		HeldUntil: r.holdEnd(),
		Fence:     r.fence,
		Replayed:  replayed,
	}
}

// holdEnd is when the hold runs out, which is no later than the action expires.
func (r record) holdEnd() time.Time {
	if r.holdUntil.After(r.expiresAt) {
		return r.expiresAt
	}

	return r.holdUntil
}
