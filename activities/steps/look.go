package steps

import (
	"context"
	"fmt"

	"ratchet/activities"
	"ratchet/transitions"
)

type lookInput struct {
	OrderID transitions.OrderID `json:"orderId"`
	// Started is when the execution was started.
	Started string `json:"started"`
}

// look returns where the order is. An execution looks when a wait has not begun, because the
// order had moved before, and when its deadline has passed.
//
// It fails if an execution that was started later waits for the order: this one could never
// park a task again, and would look and wait in turns without end.
func (s *Steps) look(ctx context.Context, in lookInput) (any, error) {
	row, _, err := s.cfg.Parked.Get(ctx, string(in.OrderID))
	if err != nil {
		return nil, err
	}

	if row.Attempt.Started > in.Started {
		return nil, activities.Fail(nameOtherExecution,
			fmt.Errorf("the execution started at %s brings order %s on", row.Attempt.Started, in.OrderID))
	}

	order, err := s.get(ctx, in.OrderID)
	if err != nil {
		return nil, err
	}

	if err := s.settleMoved(ctx, order); err != nil {
		return nil, err
	}

	return order.Position(), nil
}
