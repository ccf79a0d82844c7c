package reactions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/payments"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// The id of the step that gives the money of a returned order back, and that of the transition
// that follows. They are stored and never change.
const (
	refundStep                          = "returned"
	refundRequest transitions.RequestID = "refund/returned"
)

// comesBack selects the changes after which the goods of an order are back.
func comesBack(c transitions.Change) bool { return enters(c, workflow.Returned) }

// refund gives the money of a returned order back, whatever of it was not given back before, and
// moves the order to REFUNDED. An order that was paid elsewhere stays RETURNED: its money is given
// back where it was paid.
func (r *Reactions) refund(ctx context.Context, c change) error {
	if c.New.Total.Amount > 0 {
		switch refunded, err := r.refundPayment(ctx, c.New.ID); {
		case refundIsRefused(err):
			return streams.Permanent(fmt.Errorf("order %s is returned, and its money cannot be given back: %w", c.New.ID, err))
		case err != nil || !refunded:
			return err
		}
	}

	result, err := r.cfg.Orders.Apply(ctx, transitions.Request{OrderID: c.New.ID, Event: workflow.Refund, RequestID: refundRequest})
	if err == nil && !result.Verdict.Done() {
		r.cfg.Log.InfoContext(ctx, "a returned order was moved by another caller", "order", c.New.ID, "verdict", result.Verdict)
	}

	return err
}

// refundPayment refunds what is left of the order's payment. It returns false if the order has
// none here.
func (r *Reactions) refundPayment(ctx context.Context, order transitions.OrderID) (bool, error) {
	id := payments.IDForOrder(string(order))

	p, err := r.cfg.Payments.Get(ctx, id)
	switch {
	case errors.Is(err, payments.ErrUnknownPayment):
		r.cfg.Log.InfoContext(ctx, "a returned order was paid elsewhere; nothing is given back", "order", order)
		return false, nil
	case err != nil:
		return false, err
	case p.Captured == p.Refunded && p.Pending == nil:
		return true, nil // by this reaction before, or by a person
	}

	// While this step is pending, its amount is not yet among what was refunded.
	_, err = r.cfg.Payments.Refund(ctx, id, payments.StepRequest{ID: refundStep, Amount: p.Captured - p.Refunded})

	return err == nil, err
}

// refundIsRefused reports whether no repeat of the refund can succeed.
func refundIsRefused(err error) bool {
	for _, final := range []error{payments.ErrDeclined, payments.ErrState, payments.ErrExceeded, payments.ErrConflict, payments.ErrInvalid} {
		if errors.Is(err, final) {
			return true
		}
	}

	return false
}
