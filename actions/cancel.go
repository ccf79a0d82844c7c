package actions

import (
	"context"

	"ratchet/internal/dynamo"
)

// Cancel ends an action that nobody has used, held or not. The outcome is Canceled,
// now and whenever it is repeated, or AlreadyUsed, Expired or NotFound. It is for
// whoever made the action: it asks for no PIN. One write.
func (a *Actions) Cancel(ctx context.Context, id ID) (Result, error) {
	return a.run(ctx, "cancel", Request{ID: id}, func(c *call) (Result, error) {
		c.owner = true
		rec, made, err := a.update(ctx, c, "SET #status = :canceled, canceledAt = :now REMOVE holdUntil", write{
			"#status = :open AND expiresAt > :now",
			image{":open": dynamo.S(open), ":canceled": dynamo.S(canceled), ":now": millis(c.now)}})
		switch {
		case err != nil:
			return Result{}, err
		case made:
			return c.judge(*rec, a.cfg), nil
		}
		result, err := a.refuse(ctx, c, rec, nil)
		result.Replayed = result.Outcome == Canceled

		return result, err
	})
}
