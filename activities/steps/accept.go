package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/activities"
	"ratchet/once/inventory"
	"ratchet/transitions"
	"ratchet/workflow"
)

// acceptInput is the input of an execution, and when the execution was started.
type acceptInput struct {
	Order struct {
		transitions.NewOrder

		// Adopt says that the order may have been placed by another execution.
		Adopt bool `json:"adopt,omitempty"`
		// Incarnation is the life of the order that the execution was started for, if the order existed.
		Incarnation transitions.Incarnation `json:"incarnation,omitempty"`
	} `json:"order"`
	Started string `json:"started"`
	// Incarnation is the life that the execution has accepted before.
	Incarnation transitions.Incarnation `json:"incarnation,omitempty"`
}

// life is the life of the order that the execution brings on, "" if it has none yet.
func (in acceptInput) life() transitions.Incarnation {
	return cmp.Or(in.Incarnation, in.Order.Incarnation)
}

// accept places the order and reserves its stock in one transaction. If the order exists and waits for
// its payment, accept only reserves the stock. If the order exists and is in another state, accept
// fails with the order's position, and the execution goes on from there.
func (s *Steps) accept(ctx context.Context, in acceptInput) (any, error) {
	n := in.Order.NewOrder
	n.PlacedBy, n.Cause = in.Started, causeOf(n.ID, "", "")

	// An execution that has a life must not place the order again after its deletion.
	if in.life() != "" {
		order, err := s.get(ctx, n.ID, in.life())
		if err != nil {
			return nil, err
		}

		return s.acceptPlaced(ctx, in, order)
	}

	// A successor takes the order as it is, even if its content was edited. Create would return Conflict.
	if in.Order.Adopt {
		switch order, found, err := s.cfg.Orders.Get(ctx, n.ID); {
		case err != nil:
			return nil, err
		case found:
			return s.acceptPlaced(ctx, in, order)
		}
	}

	result, err := s.place(ctx, n)
	switch {
	case errors.Is(err, inventory.ErrOutOfStock):
		// The order is placed without a reservation and then canceled, so that its caller finds an order
		// with a reason, and not no order at all.
		result, createErr := s.cfg.Orders.Create(ctx, n)
		if createErr != nil || result.Verdict == transitions.Conflict {
			return nil, cmp.Or(createErr, errOtherContent(n.ID))
		}

		return nil, s.refuseOrder(ctx, result.Order, err)
	case err != nil:
		return nil, err
	case result.Verdict == transitions.Applied:
		return position(result), nil
	case result.Verdict == transitions.Conflict:
		return nil, errOtherContent(n.ID)
	}

	return s.acceptPlaced(ctx, in, result.Order)
}

func errOtherContent(id transitions.OrderID) error {
	return activities.Fail(nameOtherContent, fmt.Errorf("order %s was placed with other content", id))
}

// place places the order together with its reservation.
func (s *Steps) place(ctx context.Context, n transitions.NewOrder) (transitions.Result, error) {
	lines := linesOf(n.Items)
	// Nothing to reserve: the order is written alone.
	if len(lines) == 0 {
		return s.cfg.Orders.Create(ctx, n)
	}

	// The reservation has the name of the life that begins here, so no earlier order with the id has one
	// of that name. If the order exists, nothing is reserved, and acceptPlaced reserves for its life.
	var err error
	if n.Incarnation, err = s.cfg.Orders.NewIncarnation(ctx); err != nil {
		return transitions.Result{}, err
	}

	reserve, err := s.cfg.Stock.ReserveIn(n.ID.Life(n.Incarnation), lines, time.Time{})
	if err != nil {
		return transitions.Result{}, err
	}

	return s.cfg.Orders.CreateWith(ctx, n, reserve)
}

// acceptPlaced accepts an order that exists. The order is as it was read.
func (s *Steps) acceptPlaced(ctx context.Context, in acceptInput, order *transitions.Order) (any, error) {
	if err := checkPlacedBy(in, order); err != nil {
		return nil, err
	}

	if err := s.cfg.Orders.CheckVersion(order); err != nil {
		return nil, err
	}

	if !s.isPayable(order.State) {
		// An earlier try may have canceled the order and lost its answer. Then refuseOrder's request is
		// Replayed, and the failure is the same.
		if order.State == workflow.Cancelled {
			return nil, s.refuseOrder(ctx, order, inventory.ErrOutOfStock)
		}

		return nil, s.adopt(ctx, transitions.WrongState, order)
	}

	// Lines that cannot be read are not a reservation of nothing.
	if err := order.Readable("items", "total"); err != nil {
		return nil, err
	}

	// The content may have been edited since it was placed. An accept that hangs must not undo
	// what others have reserved meanwhile, so the order has to be as it was read.
	err := s.cfg.Stock.Adjust(ctx, order.PlacedLifeID(), linesOf(order.Items), s.cfg.Orders.Unchanged(order))
	switch {
	case errors.Is(err, inventory.ErrOutOfStock):
		return nil, s.refuseOrder(ctx, order, err)
	case errors.Is(err, inventory.ErrClosed):
		return nil, s.overtakenBefore(ctx, order, err)
	case err != nil:
		return nil, err
	}

	return order.Position(), nil
}

// overtakenBefore returns the failure for an order whose reservation was closed after the order was
// read: another caller has brought the order to its end, or its parcel has left. The execution goes on
// from the order's new position. If the order has not moved, the failure is cause.
func (s *Steps) overtakenBefore(ctx context.Context, seen *transitions.Order, cause error) error {
	order, err := s.get(ctx, seen.ID, seen.Incarnation)
	switch {
	case err != nil:
		return err
	// The order has not moved, so going on from there would run accept again without end.
	case order.TransitionID == seen.TransitionID:
		return cause
	}

	return s.adopt(ctx, transitions.WrongState, order)
}

// refuseOrder cancels an order because its stock is short for the lines of seen, and returns the
// failure OutOfStock. If the order was edited or moved in the meantime, refuseOrder returns its
// position as the failure, and the execution goes on from there.
func (s *Steps) refuseOrder(ctx context.Context, seen *transitions.Order, reason error) error {
	result, err := applyInLife(ctx, s.cfg.Orders, transitions.Request{
		OrderID:     seen.ID,
		Event:       workflow.Cancel,
		From:        s.cfg.Orders.Definition().Initial(),
		RequestID:   transitions.OutOfStockRequest,
		Incarnation: seen.Incarnation,
		// An edit in the meantime may need less stock, so only the order with the lines of seen is canceled.
		IfContent: &seen.ContentVersion,
		Cause:     s.outOfStock(ctx, seen),
	})
	switch {
	case err != nil:
		return err
	case result.Verdict.Done():
		return activities.Fail(nameOutOfStock, reason)
	case result.Order == nil:
		return overtaken(result.Verdict, nil)
	}

	return s.adopt(ctx, result.Verdict, result.Order)
}

func linesOf(items []transitions.Item) []inventory.Line {
	lines := make([]inventory.Line, len(items))
	for i, item := range items {
		lines[i] = inventory.Line{SKU: item.SKU, Quantity: item.Quantity}
	}

	return lines
}
