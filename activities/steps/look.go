package steps

import (
	"context"

	"ratchet/transitions"
)

type lookInput struct {
	OrderID transitions.OrderID `json:"orderId"`
}

// look returns where the order is. An execution looks when a wait has not begun, because the
// order had moved before, and when its deadline has passed.
func (s *Steps) look(ctx context.Context, in lookInput) (any, error) {
	order, err := s.get(ctx, in.OrderID)
	if err != nil {
		return nil, err
	}

	if err := s.cancelUnusedPayment(ctx, order); err != nil {
		return nil, err
	}

	return order.Position(), nil
}
