package reactions

import (
	"context"
	"slices"

	"ratchet/notify"
	"ratchet/transitions"
	"ratchet/workflow"
)

// notifiedStates are the states that customers of a shop are notified of.
var notifiedStates = []workflow.State{
	workflow.PaymentReceived,
	workflow.PaymentFailed,
	workflow.PartiallyShipped,
	workflow.Shipped,
	workflow.Delivered,
	workflow.Refunded,
	workflow.Cancelled,
	workflow.Expired,
}

// concernsCustomer selects the changes that enter a notified state. The end of a hold is left out:
// the customer was notified of the payment before the hold.
func (r *Reactions) concernsCustomer(c transitions.Change) bool {
	return slices.Contains(r.cfg.Notified, c.New.State) && enters(c, c.New.State) && !isRelease(c)
}

// notify hands the notification to Config.Notifier, which stores it. The notification of an old
// change (after a redrive, a replay or an outage) must not contain the data of a person who was
// erased from the order after the change. For a fresh change the erasure is not checked.
func (r *Reactions) notify(ctx context.Context, c change) error {
	n := notificationOf(c)

	if r.isFresh(c) {
		return r.cfg.Notifier.Accept(ctx, n)
	}

	erased, err := r.isErased(ctx, c.New.ID)
	if err != nil {
		return err
	}

	if erased {
		n.Attributes, n.Cause = nil, n.Cause.WithoutPerson()
	}

	if err := r.cfg.Notifier.Accept(ctx, n); err != nil {
		return err
	}

	// An erasure between the read of the order and Accept has missed this notification, so the
	// person is erased here. A later erasure finds the notification.
	if erased, err = r.isErased(ctx, c.New.ID); err != nil || !erased {
		return err
	}
	_, err = r.cfg.Notifier.Erase(ctx, string(c.New.ID))

	return err
}

// isErased reports whether the person was erased from the order, or the order was deleted.
func (r *Reactions) isErased(ctx context.Context, id transitions.OrderID) (bool, error) {
	order, found, err := r.cfg.Orders.Get(ctx, id)
	if err != nil {
		return false, err
	}

	return !found || !order.ErasedAt.IsZero(), nil
}

// notificationOf returns the notification about a change.
func notificationOf(c change) notify.Notification {
	n := notify.Notification{
		Key:          c.notificationKey(),
		OrderID:      c.New.ID,
		TransitionID: c.Transition.ID,
		State:        c.New.State,
		At:           c.Transition.At,
		Event:        c.Transition.Event,
		From:         c.Transition.From,
		Cause:        c.Transition.Cause,
		Attributes:   map[string]string{},
	}

	for name, value := range map[string]string{"currency": c.New.Total.Currency, "customer": c.New.Customer, "placedBy": c.New.PlacedBy} {
		if value != "" {
			n.Attributes[name] = value
		}
	}

	return n
}
