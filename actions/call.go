package actions

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// Request asks to use an action. ID must be set.
type Request struct {
	ID  ID
	PIN PIN
	// ConsumeID names this very consumption: 1 to 255 printable ASCII characters that
	// nobody else can guess. The same again gets the same answer: who lost the answer to
	// a consumption that succeeded learns that it was theirs. Empty: a new name for each
	// call.
	ConsumeID string
	// Holder is who reserves the action, or has it reserved: as ConsumeID, but for the
	// hold. With it, Consume succeeds only under that hold.
	Holder string
	// Fence is the number of the hold, from [Result].Fence. Reserve takes none.
	Fence int64
}

func invalid(rule string) error { return fmt.Errorf("%w: %s", ErrInvalid, rule) }

func (r Request) validate() error {
	switch {
	case r.ConsumeID != "" && !textRule.MatchString(r.ConsumeID):
		return invalid("consumeId: 1 to 255 printable ASCII characters")
	case r.Holder != "" && !textRule.MatchString(r.Holder):
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
	now     time.Time
	// spent tells that a try was spent on the PIN; passed, that it was the right one,
	// held against pinHash.
	spent, passed bool
	pinHash       []byte
	// owner tells that who asks made the action: a PIN hides nothing from them.
	owner bool
}

// run resolves a request, carries it out and accounts for the outcome. The clock is
// read once.
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

	result := Result{Outcome: NotFound}
	if where, known := a.resolve(r.ID); known {
		var err error
		c := &call{Request: r, ref: where, itemKey: a.itemKey(where), now: a.now()}
		if result, err = fn(c); err != nil {
			return Result{}, failed(verb, r.ID, err)
		}
	}
	a.cfg.Decided(verb, result.Outcome)

	return result, nil
}

// now reads the clock, as finely as items hold it.
func (a *Actions) now() time.Time { return a.cfg.Now().Truncate(time.Millisecond).UTC() }

// doneFunc reads an answer off an action, and whether there is one. Made tells that
// the action is as this call made it.
type doneFunc func(rec record, made bool) (Result, bool)

// refuse says why the action was not updated, or that it had been before. An action
// found expired is made so: from then on no clock that is behind can use it.
func (a *Actions) refuse(ctx context.Context, c *call, rec *record, done doneFunc) (Result, error) {
	if rec == nil {
		return c.absent(), nil
	}

	result := c.judge(*rec, a.cfg)
	switch {
	case result.Outcome == Expired && rec.status == open && !rec.forgotten(c.now):
		return a.expire(ctx, c)
	case result.Outcome != "":
		return result, nil
	case done != nil:
		if result, decided := done(*rec, false); decided {
			return result, nil
		}
	}

	return Result{}, fmt.Errorf("%w: the condition failed for no reason", errUnreadable)
}

func (a *Actions) expire(ctx context.Context, c *call) (Result, error) {
	rec, _, err := a.update(ctx, c, "SET #status = :expired", write{"#status = :open AND expiresAt <= :now",
		image{":open": dynamo.S(open), ":now": millis(c.now), ":expired": dynamo.S(expired)}})
	switch {
	case err != nil:
		return Result{}, err
	case rec == nil:
		return c.absent(), nil
	}

	return c.judge(*rec, a.cfg), nil
}

// absent is the outcome of an id without an item: it was swept, or never stored.
func (c *call) absent() Result {
	if c.expires.IsZero() || c.now.Before(c.expires) {
		return Result{Outcome: NotFound}
	}
	return Result{Outcome: Expired}
}

// judge chooses the outcome from one image. It is "" when nothing is in the way.
func (c *call) judge(rec record, cfg Config) Result {
	result := c.obstacle(rec, cfg)
	if rec.pinHash == nil || c.passed || c.owner {
		return result
	}

	return Result{Outcome: result.Outcome}
}

// obstacle is the first thing in the way, in the order that [Outcome] documents.
func (c *call) obstacle(rec record, cfg Config) Result {
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
	case c.owner: // the rest is in the way of using it only
		return Result{}
	case c.now.Before(rec.activeAt):
		return Result{Outcome: NotActive, ActiveAt: rec.activeAt}
	case c.Fence != 0 && !(c.holds(rec) && rec.held(c.now, 0)):
		return Result{Outcome: HoldLost}
	case rec.held(c.now, cfg.Margin) && rec.holder != c.Holder:
		return Result{Outcome: Held, HeldUntil: rec.until()}
	case rec.locked() && !c.spent:
		return Result{Outcome: Locked}
	case rec.pinHash != nil && !c.passed:
		return Result{Outcome: InvalidPIN}
	}

	return Result{}
}

// consumed: the action was used by this very request, who has given the PIN again.
func (c *call) consumed(rec record, cfg Config) bool {
	return (rec.pinHash == nil || c.passed) && equal(rec.consumeID, c.ConsumeID) &&
		(cfg.ReplayFor == 0 || !c.now.After(rec.consumedAt.Add(cfg.ReplayFor)))
}

// holds: the request names the newest hold.
func (c *call) holds(rec record) bool { return rec.fence == c.Fence && equal(rec.holder, c.Holder) }

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
