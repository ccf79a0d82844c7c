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

// isTransition selects all changes but migrations and imports. Every one of them is handed to the notifier: an endpoint
// may name its event.
func isTransition(c transitions.Change) bool { return !c.Transition.Event.IsReserved() }

// concernsCustomer selects the changes that enter a notified state. The end of a hold is left out:
// the customer was notified of the payment before the hold. Other changes concern only endpoints that name
// their event.
func (r *Reactions) concernsCustomer(c transitions.Change) bool {
	return slices.Contains(r.cfg.Notified, c.New.State) && enters(c, c.New.State) && !r.isRelease(c)
}

// notify hands the notification to Config.Notifier, which stores it. The notification of an old
// change (after a redrive, a replay or an outage) must not contain the data of a person who was
// erased from the order after the change. For a fresh change the erasure is not checked.
func (r *Reactions) notify(ctx context.Context, c change) error {
	n := notificationOf(c)
	n.Named = !r.concernsCustomer(c.Change)

	if r.isFresh(c) {
		return r.cfg.Notifier.Accept(ctx, n)
	}

	exists, erased, err := r.isErased(ctx, c)
	if err != nil {
		return err
	}

	if !exists || erased {
		n.Attributes, n.Cause = nil, n.Cause.WithoutPerson()
	}

	if err := r.cfg.Notifier.Accept(ctx, n); err != nil {
		return err
	}

	// An erasure between the read of the order and Accept has missed this notification, so the
	// person is erased here. A later erasure finds the notification.
	if exists, erased, err = r.isErased(ctx, c); err != nil || exists && !erased {
		return err
	}

	// Erase covers all deliveries of the id, so another order that has the id by now would lose its own.
	if !exists && len(n.Attributes) == 0 {
		return nil
	}
	_, err = r.cfg.Notifier.Erase(ctx, string(c.New.ID))

	return err
}

// isErased reports whether the order of the change exists, and whether the person was erased from it. An
// order whose id another order has by now does not exist.
func (r *Reactions) isErased(ctx context.Context, c change) (exists, erased bool, err error) {
	_, order, err := r.present(ctx, c)

	return order != nil, order != nil && !order.ErasedAt.IsZero(), err
}

// notificationOf returns the notification about a change.
func notificationOf(c change) notify.Notification {
	n := notify.Notification{
		Key:          c.notificationKey(),
		OrderID:      c.New.ID,
		Incarnation:  c.New.LifeAt(c.Transition.ID),
		TransitionID: c.Transition.ID,
		State:        c.New.State,
		At:           c.Transition.At,
		RecordedAt:   c.recorded,
		Event:        c.Transition.Event,
		From:         c.Transition.From,
		Cause:        c.Transition.Cause,
		Attributes:   map[string]string{},
	}

	if c.Old != nil {
		n.Previous = c.Old.TransitionID
	}

	for name, value := range map[string]string{"currency": c.New.Total.Currency, "customer": c.New.Customer, "placedBy": c.New.PlacedBy} {
		if value != "" {
			n.Attributes[name] = value
		}
	}

	return n
}
