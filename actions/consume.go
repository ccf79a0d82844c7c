package actions

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Consume uses the action: of all requests for it, one is Consumed. It costs one write
// without a PIN and two with.
func (a *Actions) Consume(ctx context.Context, r Request) (Result, error) {
	return a.run(ctx, "consume", r, func(c *call) (Result, error) {
		if (r.Holder == "") != (r.Fence == 0) {
			return Result{}, invalid("holder and fence: both or neither")
		}

		return a.use(ctx, c, "SET #status = :consumed, consumedAt = :now, consumeId = :consumeId REMOVE holdUntil",
			image{":consumed": dynamo.S(consumed), ":consumeId": dynamo.S(c.ConsumeID)},
			func(rec record, made bool) (Result, bool) { return rec.consumption(false), made })
	})
}

// use checks the PIN, where there is one, and makes the update on a usable action.
// Done reads the answer off the action that the update made, or off one that refused it
// although nothing is in the way.
func (a *Actions) use(ctx context.Context, c *call, update string, values image, done doneFunc) (Result, error) {
	if result, decided, err := a.guess(ctx, c); decided || err != nil {
		return result, err
	}
	w := c.usable(a.cfg)
	maps.Copy(w.values, values)

	rec, made, err := a.update(ctx, c, update, w)
	switch {
	case err != nil:
		return Result{}, err
	case made:
		result, _ := done(*rec, true)
		return result, nil
	}

	return a.refuse(ctx, c, rec, done)
}

// guess spends a try and then compares the PIN: a failed condition could not count
// itself, and a compare before the count could be repeated by many at once. It reports
// true when that decides the request.
func (a *Actions) guess(ctx context.Context, c *call) (Result, bool, error) {
	if c.PIN == "" {
		return Result{}, false, nil // the update refuses it, if the action has a PIN
	}

	key, err := a.keys.signing()
	if err != nil {
		return Result{}, false, err
	}
	name := key.tryName(c.itemKey, c.by(), c.PIN)
	w := c.guessable(a.cfg)
	w.values[":try"], w.values[":tries"] = dynamo.S(name), &types.AttributeValueMemberSS{Value: []string{name}}

	rec, spent, err := a.update(ctx, c, "ADD tries :tries", w)
	switch {
	case err != nil:
		return Result{}, false, err
	case !spent && rec != nil && rec.pinHash == nil && c.obstacle(*rec, a.cfg).Outcome == "":
		return Result{}, false, nil // it has no PIN: the one given does not matter
	case !spent:
		result, err := a.refuse(ctx, c, rec, nil)
		return result, true, err
	}

	c.spent = true
	if c.passed, err = a.keys.matches(*rec, c.itemKey, c.PIN); err != nil {
		return Result{}, false, err
	}

	c.pinHash = rec.pinHash
	if c.passed && rec.status == open {
		return Result{}, false, nil
	}

	return c.judge(*rec, a.cfg), true, nil
}

// by is who makes a guess. A holder's consumption brings the guess that its hold has
// paid for.
func (c *call) by() string {
	if c.Holder != "" {
		return "holder:" + c.Holder
	}
	return "consume:" + c.ConsumeID
}

// consumption is the answer to the request that used the action.
func (r record) consumption(replayed bool) Result {
	return Result{Outcome: Consumed, Payload: r.payload, ConsumedAt: r.consumedAt, Replayed: replayed}
}
