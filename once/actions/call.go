package actions

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// Request asks to use an action. ID must be set.
type Request struct {
	ID  ID
	PIN PIN
	// ConsumeID names this consumption: 1 to 255 printable ASCII characters that no other
	// caller can guess. A repeat with the same ConsumeID gets the same answer, so a caller
	// that lost the answer learns whether the consumption was its own. Empty: a new random
	// name for each call.
	ConsumeID string
	// Holder names the caller that reserves the action, or has reserved it, under the same
	// rules as ConsumeID. With a Holder, Consume succeeds only under that hold.
	Holder string
	// Fence is the number of the hold, from [Result].Fence. Reserve takes none.
	Fence int64
}

func (r Request) validate() error {
	switch {
	case r.ConsumeID != "" && !textRule().MatchString(r.ConsumeID):
		return invalid("consumeId: 1 to 255 printable ASCII characters")
	case r.Holder != "" && !textRule().MatchString(r.Holder):
		return invalid("holder: 1 to 255 printable ASCII characters")
	case r.Fence < 0:
		return invalid("fence: counts from 1")
	}

	return nil
}

// call is one request on its way to an outcome.
type call struct {
	Request
	ref
	itemKey string
	// now is the service's time at which the last attempt of a write was sent. corrected is set if its
	// answer has shown that the attempt had another time.
	now       time.Time
	corrected bool
	// tried is set when a try of the PIN has been counted. passed is set when the PIN
	// was right; pinHash is the hash that it was compared with.
	tried, passed bool
	pinHash       []byte
	// owner is set for a caller that made the action. The PIN hides nothing from this caller.
	owner bool
}

// rounds bounds how often a request starts again because this machine's clock was corrected.
const rounds = 4

// run resolves a request, carries it out with fn, and reports the outcome. If this machine's clock was
// wrong, it calls fn again, with the service's time.
func (a *Actions) run(ctx context.Context, verb string, r Request, fn func(*call) (Result, error)) (Result, error) {
	if err := r.validate(); err != nil {
		return Result{}, failed(verb, r.ID, err)
	}

	if _, err := a.keys.signing(); err != nil {
		return Result{}, failed(verb, r.ID, err)
	}

	if r.ConsumeID == "" {
		r.ConsumeID = rand.Text()
	}

	// An id that was not made here is answered without a read.
	result := Result{Outcome: NotFound}
	if action, known := a.resolve(r.ID); known {
		c := &call{Request: r, ref: action, itemKey: a.itemKey(action)}

		err := a.learn(ctx)
		for n := 0; err == nil || errors.Is(err, errAgain) && n < rounds; n++ {
			if result, err = fn(c); err == nil {
				break
			}
		}

		if err != nil {
			return Result{}, failed(verb, r.ID, err)
		}
	}
	a.cfg.Events.Decided(verb, result.Outcome)

	return result, nil
}

// answerFunc reads the answer to a request from an action, and whether the action holds
// one. The argument updated is set when the action is as this call's update left it.
type answerFunc func(rec record, updated bool) (Result, bool)

// refusal returns the outcome of a request whose update failed its condition on rec, nil
// for an absent action. If an earlier sending of the request has updated the action, answer
// recognizes that; answer may be nil. An action found expired is stored as expired, so that
// a caller whose clock is behind cannot use it any more.
func (a *Actions) refusal(ctx context.Context, c *call, rec *record, answer answerFunc) (Result, error) {
	if rec == nil {
		return c.absent(), nil
	}

	result := c.visibleRejection(*rec, a.cfg)
	switch {
	case result.Outcome == Expired && rec.status == open && !rec.forgotten(c.now):
		return a.expire(ctx, c)
	case result.Outcome != "":
		return result, nil
	case answer != nil:
		if result, found := answer(*rec, false); found {
			return result, nil
		}
	}

	return Result{}, c.withoutReason()
}

// withoutReason returns the error of a condition that failed, although nothing rejects the request.
func (c *call) withoutReason() error {
	if c.corrected {
		return errAgain
	}

	return fmt.Errorf("%w: the condition failed for no reason", errUnreadable)
}

// expire stores that the action has expired.
func (a *Actions) expire(ctx context.Context, c *call) (Result, error) {
	// Updated or not, the image decides: another call may have used the action meanwhile.
	rec, _, err := a.send(ctx, c, func(update *dynamo.Update) {
		update.If("#status = :open AND expiresAt <= :now").
			Set("#status = :expired").
			Bind(":open", dynamo.S(open)).
			Bind(":expired", dynamo.S(expired)).
			Bind(":now", dynamo.Millis(c.now))
	})
	switch {
	case err != nil:
		return Result{}, err
	case rec == nil:
		return c.absent(), nil
	}

	result := c.visibleRejection(*rec, a.cfg)
	if result.Outcome == "" {
		err = c.withoutReason()
	}

	return result, err
}

// absent is the outcome of an id without an item: TTL deleted it, or it was never stored.
func (c *call) absent() Result {
	if c.expires.IsZero() || c.now.Before(c.expires) {
		return Result{Outcome: NotFound}
	}

	return Result{Outcome: Expired}
}

// visibleRejection is the rejection as the caller may see it: only the outcome, unless the
// caller has given the right PIN.
func (c *call) visibleRejection(rec record, cfg Config) Result {
	result := c.rejection(rec, cfg)
	if c.hasPIN(rec) || c.owner {
		return result
	}

	return Result{Outcome: result.Outcome}
}

// rejection returns the first reason that keeps the request from using the action, in the
// order that [Outcome] documents. Its Outcome is "" if there is no such reason.
func (c *call) rejection(rec record, cfg Config) Result {
	switch {
	case rec.forgotten(c.now):
		return Result{Outcome: Expired}
	case rec.status == canceled:
		return Result{Outcome: Canceled, CanceledAt: rec.canceledAt}
	case rec.status == consumed && c.consumed(rec, cfg):
		return rec.consumption(true)
	case rec.status == consumed:
		return Result{Outcome: AlreadyUsed, ConsumedAt: rec.consumedAt}
	case rec.status == expired || !c.now.Before(rec.expiresAt):
		return Result{Outcome: Expired, ExpiresAt: rec.expiresAt}
	case c.owner: // the rest only keeps the action from being used
		return Result{}
	case c.now.Before(rec.activeAt):
		return Result{Outcome: NotActive, ActiveAt: rec.activeAt}
	case c.Fence != 0 && !(c.ownsHold(rec) && rec.holdStands(c.now, 0)):
		return Result{Outcome: HoldLost}
	case rec.holdStands(c.now, margin) && rec.holder != c.Holder:
		return Result{Outcome: Held, HeldUntil: rec.holdEnd()}
	// A try that this call has counted may be the last: it is still compared.
	case rec.locked() && !c.tried:
		return Result{Outcome: Locked}
	case !c.hasPIN(rec):
		return Result{Outcome: InvalidPIN}
	}

	return Result{}
}

// consumed reports whether this very request consumed the action, and has brought the PIN
// again.
func (c *call) consumed(rec record, cfg Config) bool {
	return c.hasPIN(rec) && equal(rec.consumeID, c.ConsumeID) &&
		(cfg.ReplayFor == 0 || !c.now.After(rec.consumedAt.Add(cfg.ReplayFor)))
}

// ownsHold reports whether the request names the newest hold.
func (c *call) ownsHold(rec record) bool {
	return rec.fence == c.Fence && equal(rec.holder, c.Holder)
}

// equal compares secrets in constant time.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
