package steps

import (
	"context"
	"fmt"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/transitions"
)

type lookInput struct {
	OrderID transitions.OrderID `json:"orderId"`
	// Started is when the execution was started.
	Started     string                  `json:"started"`
	Incarnation transitions.Incarnation `json:"incarnation,omitempty"`
}

// look returns the position of the order. An execution calls it when a wait could not begin because
// the order had moved, and when the deadline of a wait has passed.
func (s *Steps) look(ctx context.Context, in lookInput) (any, error) {
	order, err := orderToLookAt(ctx, s.cfg.Orders, s.cfg.Parked, in)
	if err != nil {
		return nil, err
	}

	if err := s.endOpenParts(ctx, order); err != nil {
		return nil, err
	}

	return order.Position(), nil
}

// orderToLookAt returns the order as it is. It fails if an execution that was started later has parked
// a task for the order: this execution could never park one again, and would look and try to wait
// without end.
func orderToLookAt(ctx context.Context, orders *transitions.Orders, parked *tasktoken.Store, in lookInput) (*transitions.Order, error) {
	order, err := getOrder(ctx, orders, in.OrderID, in.Incarnation)
	if err != nil {
		return nil, err
	}

	row, _, err := parked.Get(ctx, order.LifeID())
	if err != nil {
		return nil, err
	}

	if row.Attempt.Started > in.Started {
		return nil, activities.Fail(nameOtherExecution,
			fmt.Errorf("the execution started at %s brings order %s on", row.Attempt.Started, in.OrderID))
	}

	return order, nil
}
