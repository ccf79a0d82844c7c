package actions

import (
	"context"

	"ratchet/internal/dynamo"
)

// Cancel ends an action that has not been used, held or not. The outcome is Canceled, now
// and for each repeat, or AlreadyUsed, Expired or NotFound. Cancel is for the owner of the
// action, so it asks for no PIN. It costs one write.
func (a *Actions) Cancel(ctx context.Context, id ID) (Result, error) {
	return a.run(ctx, "cancel", Request{ID: id}, func(c *call) (Result, error) {
		c.owner = true

		rec, updated, err := a.send(ctx, c, func(update *dynamo.Update) {
			update.If("#status = :open AND expiresAt > :now").
				Set("#status = :canceled").
				Set("canceledAt = :now").
				Bind(":open", dynamo.S(open)).
				Bind(":canceled", dynamo.S(canceled)).
				Bind(":now", dynamo.Millis(c.now))
		})
		switch {
		case err != nil:
			return Result{}, err
		case updated:
			return c.visibleRejection(*rec, a.cfg), nil
		}

		result, err := a.refusal(ctx, c, rec, nil)
		result.Replayed = result.Outcome == Canceled

		return result, err
	})
}
