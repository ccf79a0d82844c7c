package reactions

import (
	"context"
	"slices"

	"ratchet/notify"
	"ratchet/transitions"
	"ratchet/workflow"
)

// notifiedStates are the states that customers are notified of.
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

// concernsCustomer selects the changes that enter a notified state. The customer was told of
// the payment before its order was held.
func concernsCustomer(c transitions.Change) bool {
	return slices.Contains(notifiedStates, c.New.State) && enters(c, c.New.State) && !isRelease(c)
}

// notify hands the notification to Config.Notifier, which stores it.
func (r *Reactions) notify(ctx context.Context, c change) error {
	return r.cfg.Notifier.Accept(ctx, notificationOf(c))
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
		Attributes:   map[string]string{},
	}

	for name, value := range map[string]string{"currency": c.New.Total.Currency, "customer": c.New.Customer, "placedBy": c.New.PlacedBy} {
		if value != "" {
			n.Attributes[name] = value
		}
	}

	return n
}
