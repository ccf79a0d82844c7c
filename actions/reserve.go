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

// Reserve holds the action for Request.Holder, for 1 s to 24 h: until then nobody else
// can use it. The result's Fence goes into the holder's Consume or Release. The same
// holder asking again during the hold gets the same hold. It costs what Consume costs.
func (a *Actions) Reserve(ctx context.Context, r Request, d time.Duration) (Result, error) {
	return a.run(ctx, "reserve", r, func(c *call) (Result, error) {
		switch {
		case r.Holder == "" || r.Fence != 0:
			return Result{}, invalid("holder: must be set, and fence not")
		case d < minHold || d > maxHold:
			return Result{}, invalid(fmt.Sprintf("hold %s: %s to %s", d, minHold, maxHold))
		}

		return a.use(ctx, c, "SET holder = :holder, holdUntil = :until, fence = if_not_exists(fence, :zero) + :one",
			image{":until": millis(c.now.Add(d)), ":zero": dynamo.N(0), ":one": dynamo.N(1)},
			func(rec record, made bool) (Result, bool) {
				return rec.reservation(!made), made || (equal(rec.holder, c.Holder) && rec.held(c.now, 0))
			})
	})
}

// Release gives the hold back that Request.Holder and Fence name. A hold that has run
// out, or was used, cannot be given back. One write.
func (a *Actions) Release(ctx context.Context, r Request) (Result, error) {
	return a.run(ctx, "release", r, func(c *call) (Result, error) {
		if r.Holder == "" || r.Fence == 0 {
			return Result{}, invalid("holder and fence: must be set")
		}
		values := image{":zero": dynamo.N(0), ":open": dynamo.S(open), ":now": millis(c.now)}

		rec, made, err := a.update(ctx, c, "SET holdUntil = :zero", write{
			"#status = :open AND expiresAt > :now AND " + c.hold(a.cfg, values), values})
		switch {
		case err != nil:
			return Result{}, err
		case made:
			return Result{Outcome: Released}, nil
		}
		c.owner = true // neither the PIN nor the time matters for giving back
		result, err := a.refuse(ctx, c, rec, func(rec record, _ bool) (Result, bool) {
			if c.holds(rec) && rec.holdUntil.IsZero() {
				return Result{Outcome: Released, Replayed: true}, true
			}
			return Result{Outcome: HoldLost}, true
		})

		return Result{Outcome: result.Outcome, Replayed: result.Replayed}, err
	})
}

// reservation is the answer to the holder.
func (r record) reservation(replayed bool) Result {
	return Result{Replayed: replayed, Outcome: Reserved, Payload: r.payload, ExpiresAt: r.expiresAt, HeldUntil: r.until(), Fence: r.fence}
}

// until is when the hold runs out: at the latest with the action.
func (r record) until() time.Time {
	if r.holdUntil.After(r.expiresAt) {
		return r.expiresAt
	}
	return r.holdUntil
}
