package reactions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/payments"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// comesBack selects the changes after which the goods of an order are back.
func (r *Reactions) comesBack(c transitions.Change) bool {
	return slices.Contains(r.definition().Back(), c.New.State) && enters(c, c.New.State)
}

// refund gives back the rest of a returned order's money, and moves the order to REFUNDED. An order
// that was paid elsewhere stays RETURNED: the place that took the money gives it back.
func (r *Reactions) refund(ctx context.Context, c change) error {
	if err := c.New.Readable("total"); err != nil {
		return streams.Permanent(err)
	}

	if c.New.Total.Amount > 0 {
		switch refunded, err := r.refundPayment(ctx, c.New); {
		case errors.Is(err, payments.ErrDeclined):
			return streams.Permanent(fmt.Errorf("order %s is returned, and its money cannot be given back: %w", c.New.ID, err))
		case err != nil || !refunded:
			return err
		}
	}

	// The money was given back to its own life. Another order that has the id by now has its own.
	life := c.New.Incarnation
	if !r.isFresh(c) {
		switch _, order, err := r.present(ctx, c); {
		case err != nil:
			return err
		case order == nil:
			r.cfg.Log.InfoContext(ctx, "a returned order was deleted", "order", c.New.ID)
			return nil
		default:
			life = order.Incarnation
		}
	}

	// A fixed request id, so that a repeat after a lost answer is replayed and moves nothing.
	result, err := r.cfg.Orders.Apply(ctx, transitions.Request{
		OrderID:     c.New.ID,
		Event:       workflow.Refund,
		RequestID:   transitions.ReturnedRequest,
		Incarnation: life,
		Cause:       transitions.Cause{Code: "returned", Text: "the goods are back", Actor: "reaction:refund", Source: "stream"},
	})
	switch {
	case err != nil:
		return err
	case result.Order != nil && result.Order.Incarnation != life:
		return fmt.Errorf("order %s was renewed or placed again meanwhile", c.New.ID)
	case result.Verdict == transitions.Conflict:
		return streams.Permanent(fmt.Errorf("order %s is not moved to REFUNDED: the request id %s was used for something else", c.New.ID, transitions.ReturnedRequest))
	case !result.Verdict.Done():
		r.cfg.Log.InfoContext(ctx, "a returned order was moved by another caller", "order", c.New.ID, "verdict", result.Verdict)
	}

	return nil
}

// refundPayment gives back all that the order's payment has taken or holds, and closes it: a later
// capture takes nothing. It returns false if the order has no payment here.
func (r *Reactions) refundPayment(ctx context.Context, order *transitions.Order) (bool, error) {
	id, err := r.cfg.Payments.OfOrder(ctx, order.LifeIDs())
	if err != nil {
		return false, err
	}

	_, err = r.cfg.Payments.Get(ctx, id)
	switch {
	case errors.Is(err, payments.ErrUnknownPayment):
		r.cfg.Log.InfoContext(ctx, "a returned order was paid elsewhere; nothing is given back", "order", order.ID)
		return false, nil
	case err != nil:
		return false, err
	}

	_, err = r.cfg.Payments.Cancel(ctx, id)

	return err == nil, err
}
