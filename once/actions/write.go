package actions

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// newUpdate begins an update of the call's action.
func (a *Actions) newUpdate(c *call) *dynamo.Update {
	// A later id with the same request id has the same item key. The condition keeps the
	// older id from changing the later action.
	return dynamo.NewUpdate(a.cfg.Table, image{keyAttribute: dynamo.S(c.itemKey)}).
		If("idExpires = :idExpires").
		Bind(":idExpires", dynamo.N(c.second()))
}

// send sends one update until DynamoDB has decided. Each attempt has its own time, c.now, and the clauses that
// change adds for it. send returns the action as the update left it and true. If the condition failed, it
// returns the action as it was, nil for none, and false; c.now is then the time of the attempt by the
// service's clock.
func (a *Actions) send(ctx context.Context, c *call, change func(*dynamo.Update)) (*record, bool, error) {
	var (
		local time.Time
		out   *dynamodb.UpdateItemOutput
	)

	old, refused, err := dynamo.UntilDecided(ctx, writeAttempts, func() (err error) {
		local = a.clock.LocalNow()
		c.now = a.at(local)
		update := a.newUpdate(c)
		change(update)
		out, err = a.cfg.DynamoDB.UpdateItem(ctx, update.Input())

		return err
	})

	if now := a.at(local); !now.Equal(c.now) {
		c.now, c.corrected = now, true
	}

	switch {
	case err != nil:
		return nil, false, unavailable(ctx, err)
	case !refused:
		rec, err := decode(out.Attributes)
		return &rec, true, err
	case len(old) == 0:
		return nil, false, nil
	}

	rec, err := decode(old)
	// The condition on idExpires has failed.
	if rec.idSecond != c.second() {
		return nil, false, err // the action of another id
	}

	return &rec, false, err
}

// Conditions on an action. They use the values :open, :now, :consumed, :second and :try.
const (
	isOpen    = "#status = :open AND activeAt <= :now AND expiresAt > :now"
	isUsed    = "#status = :consumed AND (attribute_not_exists(" + ExpiryAttribute + ") OR " + ExpiryAttribute + " > :second)"
	triesLeft = "attribute_not_exists(tries) OR size(tries) < maxAttempts OR contains(tries, :try)"
)

// requireUsable adds the condition under which the request may use the action.
func (c *call) requireUsable(u *dynamo.Update, cfg Config) {
	u.If(isOpen).
		Bind(":open", dynamo.S(open)).
		Bind(":now", dynamo.Millis(c.now))

	if c.passed {
		// This is the hash that was compared: a new action may have replaced the item since.
		u.If("pinHash = :pin").Bind(":pin", dynamo.B(c.pinHash))
	} else {
		u.If("attribute_not_exists(pinHash)")
	}

	u.If(c.noOtherHold(u, cfg))
}

// requireTryable adds the condition under which a try of the PIN may be counted: tries are
// left, or this try has been counted already; and the action could be used, or has been
// used. The right PIN of a used action reveals only when it was used.
func (c *call) requireTryable(u *dynamo.Update, cfg Config, try string) {
	hold := c.noOtherHold(u, cfg)
	if c.Fence == 0 && c.Holder != "" { // a holder that reserves again during its hold
		hold = "(" + hold + " OR holder = :holder)"
	}

	u.If("attribute_exists(pinHash)").
		If(triesLeft).
		If("("+isOpen+" AND "+hold+") OR ("+isUsed+")").
		Bind(":open", dynamo.S(open)).
		Bind(":consumed", dynamo.S(consumed)).
		Bind(":now", dynamo.Millis(c.now)).
		Bind(":second", dynamo.Seconds(c.now)).
		Bind(":try", dynamo.S(try))
}

// noOtherHold returns the condition that the action is not held by another caller, and
// binds its values except :now. If the request names a hold, the hold must stand.
func (c *call) noOtherHold(u *dynamo.Update, cfg Config) string {
	if c.Fence != 0 {
		u.Bind(":holder", dynamo.S(c.Holder)).Bind(":fence", dynamo.N(c.Fence))
		return "holder = :holder AND fence = :fence AND holdUntil > :now"
	}

	u.Bind(":stale", dynamo.Millis(c.now.Add(-margin)))

	if c.Holder == "" {
		return "(attribute_not_exists(holdUntil) OR holdUntil <= :stale)"
	}
	u.Bind(":holder", dynamo.S(c.Holder))

	// For its own holder, a hold ends without the margin.
	return "(attribute_not_exists(holdUntil) OR holdUntil <= :stale OR (holder = :holder AND holdUntil <= :now))"
}
