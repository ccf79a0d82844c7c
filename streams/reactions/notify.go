package reactions

import (
	"context"
	"encoding/json"
	"slices"

	"ratchet/notify"
	"ratchet/streams"
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

// notify sends the notification, and stores that it was sent. After a crash in between it is
// sent again, under the same key.
func (r *Reactions) notify(ctx context.Context, c change) error {
	n := notify.Notification{
		Key:          c.notificationKey(),
		OrderID:      c.New.ID,
		TransitionID: c.Transition.ID,
		State:        c.New.State,
		At:           c.Transition.At,
	}

	payload, err := json.Marshal(n)
	if err != nil {
		return streams.Permanent(err)
	}

	_, _, err = r.cfg.Claims.DoRepeatable(ctx, n.Key, payload, func(ctx context.Context) ([]byte, error) {
		return nil, r.cfg.Sink.Send(ctx, n)
	})

	return err
}
