package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/internal/worker"
	"ratchet/once"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// The steps of executions that were started before the waits were parked by Step Functions
// itself. Their state machine had a task for each of what [Steps.All] does in four. They stay
// served until the last of these executions has ended, at most 30 days after an upgrade.

// oldTiming is the timing of every old step but await-order, whose tasks park.
var oldTiming = Timing{Heartbeat: 15 * time.Second, Timeout: 120 * time.Second}

// parkTiming is that of await-order: it bounds the storing of a token.
var parkTiming = Timing{Timeout: 10 * time.Second}

// Old returns the steps of executions of the former state machine, with their timing.
func (s *Steps) Old() []Step {
	return []Step{
		{Activity{"place-order", "PlaceOrderArn"}, handle(s.placeOrder), oldTiming},
		{Activity{"reserve-stock", "ReserveStockArn"}, handle(s.reserveStock), oldTiming},
		{Activity{"take-payment", "TakePaymentArn"}, handle(s.takePayment), oldTiming},
		{Activity{"apply-transition", "ApplyTransitionArn"}, handle(s.applyTransition), oldTiming},
		{Activity{"request-shipment", "RequestShipmentArn"}, handle(s.requestShipment), oldTiming},
		{Activity{"await-order", "AwaitOrderArn"}, s.awaitOrder, parkTiming},
		{Activity{"commit-stock", "CommitStockArn"}, handle(s.commitStock), oldTiming},
		{Activity{"cancel-shipment", "CancelShipmentArn"}, handle(s.cancelShipment), oldTiming},
		{Activity{"void-payment", "VoidPaymentArn"}, handle(s.voidPayment), oldTiming},
		{Activity{"release-stock", "ReleaseStockArn"}, handle(s.releaseStock), oldTiming},
	}
}

func (s *Steps) placeOrder(ctx context.Context, in transitions.NewOrder) (any, error) {
	result, err := s.cfg.Orders.Create(ctx, in)
	if err != nil {
		return nil, err
	}

	if !result.Verdict.Done() {
		return nil, overtaken(result.Verdict, result.Order)
	}

	// Return the position after the placing, and not the present one, so that a retry
	// returns the same.
	return position(in.ID, result.Transition), nil
}

type reserveInput struct {
	OrderID transitions.OrderID `json:"orderId"`
	Items   []transitions.Item  `json:"items"`
}

func (s *Steps) reserveStock(ctx context.Context, in reserveInput) (any, error) {
	return map[string]string{"status": "reserved"}, s.cfg.Stock.Reserve(ctx, string(in.OrderID), linesOf(in.Items))
}

type orderInput struct {
	OrderID transitions.OrderID `json:"orderId"`
}

func (s *Steps) commitStock(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "committed"}, s.cfg.Stock.Commit(ctx, string(in.OrderID))
}

func (s *Steps) releaseStock(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "released"}, s.cfg.Stock.Release(ctx, string(in.OrderID))
}

type chargeInput struct {
	OrderID transitions.OrderID `json:"orderId"`
	Total   transitions.Money   `json:"total"`
}

// paymentKey returns the key of the order's one payment at the gateway.
func paymentKey(id transitions.OrderID) string { return string(id) + "/payment" }

func (s *Steps) takePayment(ctx context.Context, in chargeInput) (any, error) {
	id, err := s.cfg.Gateway.Charge(ctx, payments.Charge{
		Key:      paymentKey(in.OrderID),
		OrderID:  string(in.OrderID),
		Amount:   in.Total.Amount,
		Currency: in.Total.Currency,
	})

	return map[string]string{"chargeId": id}, err
}

func (s *Steps) voidPayment(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "voided"}, s.cfg.Gateway.Void(ctx, paymentKey(in.OrderID))
}

type applyInput struct {
	OrderID      transitions.OrderID      `json:"orderId"`
	Event        workflow.Event           `json:"event"`
	TransitionID transitions.TransitionID `json:"transitionId"`
}

func (s *Steps) applyTransition(ctx context.Context, in applyInput) (any, error) {
	return applyEvent(ctx, s.cfg.Orders, in)
}

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

// cancelShipment cancels every shipment that the order can have.
func (s *Steps) cancelShipment(ctx context.Context, in orderInput) (any, error) {
	order, err := s.get(ctx, in.OrderID)
	if err != nil {
		return nil, err
	}

	if _, err := s.cancelShipments(ctx, order); err != nil {
		return nil, err
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
