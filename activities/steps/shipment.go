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

// The stream's reaction may be booking the same shipment. The step waits for it with these
// pauses before it fails: a retry of the state machine takes a second and five events.
const (
	firstBookPause = 10 * time.Millisecond
	maxBookPause   = 320 * time.Millisecond
)

// requestShipment books under the effect key of the transition that paid the order. The
// stream's reaction uses the same key.
func (s *Steps) requestShipment(ctx context.Context, in shipInput) (any, error) {
	key := in.OrderID.EffectKey(in.TransitionID, shipping.Effect)
	for pause := firstBookPause; ; pause *= 2 {
		tracking, err := s.cfg.Booker.Book(ctx, key, string(in.OrderID))
		if !errors.Is(err, once.ErrInProgress) || pause > maxBookPause {
			return map[string]string{"tracking": tracking}, err
		}

		if !worker.Wait(ctx, pause) {
			return nil, context.Cause(ctx)
		}
	}
}

// cancelShipment cancels every shipment that the order can have: one per payment among the
// transitions that its ring remembers. An order that was never paid has none.
func (s *Steps) cancelShipment(ctx context.Context, in orderInput) (any, error) {
	order, found, err := s.cfg.Orders.Get(ctx, in.OrderID)
	if err != nil {
		return nil, err
	}

	if !found {
		return nil, activities.Fail(verdictName(transitions.NotFound), fmt.Errorf("order %s does not exist", in.OrderID))
	}

	for _, t := range order.Recent() {
		if t.Event == workflow.Pay {
			if _, err := s.cfg.Booker.Cancel(ctx, in.OrderID.EffectKey(t.ID, shipping.Effect)); err != nil {
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

// awaitOrder parks the task's token first and reads the order afterwards. If the order
// moves in between, the read or the reaction sees it, or both do. Step Functions refuses the
// second answer, which does no harm.
func (s *Steps) awaitOrder(ctx context.Context, t activities.Task) (any, error) {
	in, err := read[awaitInput](t.Input)
	if err != nil {
		return nil, err
	}

	if !s.cfg.Orders.Definition().HasState(in.Awaited) {
		return nil, activities.Fail(nameInvalidInput, fmt.Errorf("awaited state %q is not in the definition", in.Awaited))
	}

	task := tasktoken.Task{
		OrderID: string(in.OrderID),
		Awaited: string(in.Awaited),
		Since:   int64(in.Since),
		Token:   tasktoken.Token(t.Token),
	}
	if err := s.cfg.Parked.Park(ctx, task, s.cfg.Now().Add(s.cfg.ParkFor)); err != nil {
		return nil, withName(err)
	}

	order, found, err := s.cfg.Orders.Get(ctx, in.OrderID)
	switch {
	case err != nil:
		return nil, withName(err)
	case !found:
		return nil, activities.Fail(verdictName(transitions.NotFound), fmt.Errorf("order %s does not exist", in.OrderID))
	case order.Reached(in.Awaited, in.Since):
		return order.Position(), withName(s.cfg.Parked.Remove(ctx, task))
	}

	if err := s.cfg.Orders.CheckVersion(order); err != nil {
		return nil, withName(errors.Join(err, s.cfg.Parked.Remove(ctx, task)))
	}

	if !s.cfg.Orders.Definition().Reachable(order.State, in.Awaited) {
		if err := s.cfg.Parked.Remove(ctx, task); err != nil {
			return nil, withName(err)
		}

		return nil, overtaken(transitions.WrongState, order)
	}

	return nil, activities.ErrParked
}
