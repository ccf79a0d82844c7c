package notify

import (
	"context"
	"time"

	"ratchet/transitions"
	"ratchet/workflow"
)

// Notification says that an order has entered a state. It contains no personal data: a
// receiver that needs to know the customer asks the order service.
type Notification struct {
	// Key is orderId/transitionId/notify. A repeat has the same key.
	Key          string                   `json:"key"`
	OrderID      transitions.OrderID      `json:"orderId"`
	TransitionID transitions.TransitionID `json:"transitionId"`
	State        workflow.State           `json:"state"`
	At           time.Time                `json:"at"`
}

// Sink takes notifications. It must be safe for concurrent use.
type Sink interface {
	// Send sends the notification. It may be called again with the same key; the sink
	// should then do nothing.
	Send(ctx context.Context, n Notification) error
}
