package transitions

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// Renew gives the order, as it was read, a new incarnation: the effects of its next transitions, and a
// payment that it does not have yet, have keys that were never used. The order keeps its history, its
// reservation, its payment, and the keys of the effects of the transitions that it has made. It is for
// orders whose tables were restored to an earlier time: what they did after that time is forgotten here,
// but not by the carrier and the bank, which would take what the order does next for a repeat.
//
// The write is conditional on the order as it was read. Renew reports false if the order has moved or
// was renewed since, ErrUnknownOrder if it is gone, and ErrUnreadable if another program uses the names of its
// attributes. It changes neither state nor transitionId, so
// no reaction follows.
func (o *Orders) Renew(ctx context.Context, order *Order) (bool, error) {
	// Attributes of another program stay as they are: such an order has no name for its life.
	if err := order.Readable(incarnationAttribute, livesAttribute); err != nil {
		return false, fmt.Errorf("renew order %s: %w", order.ID, err)
	}

	// The newest life of an order that is lost is the one whose name sorts last (see Restore), also if this
	// machine's clock is behind the one that named the life before.
	now, earliest := o.clock.Now(), order.Incarnation.Began().Add(time.Millisecond)
	if now.Before(earliest) {
		now = earliest
	}
	renewed := order.life().renewed(NewIncarnation(now), order.TransitionID)

	u := dynamo.NewUpdate(o.cfg.Table, orderKey(order.ID)).
		SetValue(incarnationAttribute, dynamo.S(string(renewed.incarnation))).
		SetValue(livesAttribute, renewed.value())

	ifUnchanged(u, order)

	old, refused, err := dynamo.UntilDecided(ctx, o.cfg.Attempts, func() error {
		_, err := o.cfg.DynamoDB.UpdateItem(ctx, u.Input())
		return err
	})
	switch {
	case err != nil:
		err = asUnavailable(ctx, err)
	case !refused:
		return true, nil
	case len(old) == 0:
		err = ErrUnknownOrder
	default:
		var now *Order
		// This call has renewed the order, and its answer was lost; another call may have renewed it once more.
		if now, err = decode(old); err == nil && now.lived(renewed.incarnation) {
			return true, nil
		}
	}

	if err != nil {
		err = fmt.Errorf("renew order %s: %w", order.ID, err)
	}

	return false, err
}
