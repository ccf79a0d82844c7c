package actions

import (
	"context"

	"ratchet/internal/dynamo"
)

// Consume uses the action. Of all requests for an action, one is Consumed. It costs one
// write without a PIN and two with one.
func (a *Actions) Consume(ctx context.Context, r Request) (Result, error) {
	return a.run(ctx, "consume", r, func(c *call) (Result, error) {
		if (r.Holder == "") != (r.Fence == 0) {
			return Result{}, invalid("holder and fence: both or neither")
		}

		consume := func(u *dynamo.Update) {
			u.Set("#status = :consumed").
				Set("consumedAt = :now").
				Set("consumeId = :consumeId").
				Bind(":consumed", dynamo.S(consumed)).
				Bind(":consumeId", dynamo.S(c.ConsumeID))
		}

		// A repeat does not come here: the rejection by a consumed action answers it (see
		// rejection).
		return a.use(ctx, c, consume, func(rec record, updated bool) (Result, bool) {
			return rec.consumption(false), updated
		})
	})
}

// use checks the PIN, if there is one, and makes the change on condition that the action
// may be used. The change may use the value :now.
func (a *Actions) use(ctx context.Context, c *call, change func(*dynamo.Update), answer answerFunc) (Result, error) {
	if result, decided, err := a.tryPIN(ctx, c); decided || err != nil {
		return result, err
	}

	rec, updated, err := a.send(ctx, c, func(update *dynamo.Update) {
		c.requireUsable(update, a.cfg)
		change(update)
	})
	switch {
	case err != nil:
		return Result{}, err
	case updated:
		result, _ := answer(*rec, true)
		return result, nil
	}

	return a.refusal(ctx, c, rec, answer)
}

// consumption is the answer to the request that used the action.
func (r record) consumption(replayed bool) Result {
	return Result{Outcome: Consumed, Payload: r.payload, ConsumedAt: r.consumedAt, Replayed: replayed}
}
