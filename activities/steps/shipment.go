package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/activities"
	"ratchet/internal/worker"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

type shipInput struct {
	OrderID      transitions.OrderID      `json:"orderId"`
	TransitionID transitions.TransitionID `json:"transitionId"`
}

// bookPatience bounds the pauses between two looks at a booking that the reaction is
// just making; a retry of the state machine takes a second and five events.
const bookPatience = 320 * time.Millisecond

// requestShipment books under the effect key of the transition that paid the order,
// which is the stream reaction's key, too.
func (s *Steps) requestShipment(ctx context.Context, in shipInput) (any, error) {
	for pause := 10 * time.Millisecond; ; pause *= 2 {
		tracking, err := s.Desk.Book(ctx, transitions.EffectKey(in.OrderID, in.TransitionID, shipping.Effect), string(in.OrderID))
		if !errors.Is(err, once.ErrInProgress) || pause > bookPatience {
			return map[string]string{"tracking": tracking}, err
		}

		if !worker.Wait(ctx, pause) {
			return nil, context.Cause(ctx)
		}
	}
}

// cancelShipment stops every shipment that the order can have: one per transition
// into PAYMENT_RECEIVED that its journal or ring knows. An order that was never
// paid has none.
func (s *Steps) cancelShipment(ctx context.Context, in orderInput) (any, error) {
	order, found, err := s.Orders.Get(ctx, in.OrderID)
	if err != nil {
		return nil, err
	}

	if !found {
		return nil, activities.Fail(verdictName(transitions.NotFound), fmt.Errorf("order %s does not exist", in.OrderID))
	}

	for _, t := range order.Recent() {
		if t.Event == workflow.Pay {
			if err := s.Desk.Cancel(ctx, transitions.EffectKey(in.OrderID, t.ID, shipping.Effect)); err != nil {
				return nil, err
			}
		}
	}

	return map[string]string{"status": "cancelled"}, nil
}

type awaitInput struct {
	OrderID transitions.OrderID      `json:"orderId"`
	Awaited workflow.State           `json:"awaited"`
	Since   transitions.TransitionID `json:"since"`
}

// awaitOrder parks the task's token first and reads the order afterwards: an order
// that moves in between is seen by the read or by the reaction, or by both. Then
// one of the two answers is refused by the service, which does no harm.
func (s *Steps) awaitOrder(ctx context.Context, t activities.Task) (any, error) {
	in, err := read[awaitInput](t.Input)
	if err != nil {
		return nil, err
	}

	if !s.Orders.Definition().HasState(in.Awaited) {
		return nil, activities.Fail(nameInvalidInput, fmt.Errorf("awaited state %q is not in the definition", in.Awaited))
	}

	now := s.Now
	if now == nil {
		now = time.Now
	}

	task := tasktoken.Task{OrderID: string(in.OrderID), Awaited: string(in.Awaited), Since: int64(in.Since), Token: tasktoken.Token(t.Token)}
	if err := s.Parked.Park(ctx, task, now().Add(s.ParkFor)); err != nil {
		return nil, named(err)
	}

	order, found, err := s.Orders.Get(ctx, in.OrderID)
	switch {
	case err != nil:
		return nil, named(err)
	case !found:
		return nil, activities.Fail(verdictName(transitions.NotFound), fmt.Errorf("order %s does not exist", in.OrderID))
	case order.Reached(in.Awaited, in.Since):
		return order.Position(), named(s.Parked.Remove(ctx, task))
	}

	if err := s.Orders.CheckVersion(order); err != nil {
		return nil, named(errors.Join(err, s.Parked.Remove(ctx, task)))
	}

	if !s.Orders.Definition().Reachable(order.State, in.Awaited) {
		if err := s.Parked.Remove(ctx, task); err != nil {
			return nil, named(err)
		}
		return nil, overtaken(transitions.WrongState, order)
	}

	return nil, activities.Park()
}
