package notify

import (
	"context"
	"log/slog"
	"time"

	"ratchet/transitions"
	"ratchet/workflow"
)

// Notification tells that an order has entered a state. It carries no personal data:
// who needs to know the customer asks the order service.
type Notification struct {
	// Key is orderId/transitionId/notify, equal for every repetition.
	Key          string                   `json:"key"`
	OrderID      transitions.OrderID      `json:"orderId"`
	TransitionID transitions.TransitionID `json:"transitionId"`
	State        workflow.State           `json:"state"`
	At           time.Time                `json:"at"`
}

// Sink takes notifications. Send may be called again with the same key; a sink that
// honours keys then does nothing.
type Sink interface {
	Send(ctx context.Context, n Notification) error
}

// Log writes notifications to a logger. It honours no keys.
type Log struct{ Logger *slog.Logger }

// Send writes one line.
func (l Log) Send(ctx context.Context, n Notification) error {
	l.Logger.InfoContext(ctx, "notification", "key", n.Key, "order", n.OrderID, "transition", n.TransitionID, "state", n.State)
	return nil
}
