package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/operate/executions"
	"ratchet/operate/inspect"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Around returns the sources of an order's explanation, in addition to the order's transitions.
func (b *Backend) Around() inspect.Around {
	return inspect.Around{
		Mapping:     b.Orders.Mapping(),
		Executions:  b.executionMoments,
		Tasks:       b.ParkedTasks,
		Deliveries:  b.Deliveries,
		Endpoints:   b.Endpoints.List,
		DeadLetters: b.DeadLetters(),
		Queue:       b.RetryQueue(),
		Reports:     b.Reports,
		ShipmentDue: b.shipmentDue,
		Payment:     b.paymentOf,
		Hold:        b.holdAnswer,
		Handlers:    b.EveryHandlerName(),
		Refusals:    b.Refusals,
	}
}

// claimsKept is how long the claim of a booking is kept. Of an older payment nothing is known.
const claimsKept = 30 * 24 * time.Hour

// shipmentDue reports whether the order is to be shipped and no booking is stored.
func (b *Backend) shipmentDue(ctx context.Context, order *transitions.Order) (bool, error) {
	toShip := order.State == workflow.PaymentReceived || order.State == workflow.PartiallyShipped
	if b.flow.own || !toShip {
		return false, nil
	}

	paid, err := b.Orders.TransitionsBy(ctx, order, workflow.Pay)
	if err != nil || len(paid) == 0 || time.Since(paid[len(paid)-1].At) > claimsKept {
		return false, err
	}

	booked, err := b.Booker.Booked(ctx, order.EffectKey(paid[len(paid)-1].ID, shipping.Effect), string(order.ID))

	return !booked && err == nil, err
}

// paymentOf returns the payment of the order's execution.
func (b *Backend) paymentOf(ctx context.Context, order *transitions.Order) (payments.Payment, bool, error) {
	id, err := b.Payments.OfOrder(ctx, order.LifeIDs())
	if err != nil {
		return payments.Payment{}, false, err
	}

	p, err := b.Payments.Get(ctx, id)
	if errors.Is(err, payments.ErrUnknownPayment) {
		return payments.Payment{}, false, nil
	}

	return p, err == nil, err
}

// holdAnswer returns the carrier's answer to the hold of a paid order.
func (b *Backend) holdAnswer(ctx context.Context, order *transitions.Order) (shipping.HoldAnswer, error) {
	held, err := b.Orders.TransitionsBy(ctx, order, workflow.Hold)
	if err != nil || len(held) == 0 {
		return "", err
	}

	key, err := b.Reports.Shipment(ctx, order.ID)
	if err != nil {
		return "", err
	}

	return b.Booker.HoldAnswered(ctx, key, order.EffectKey(held[len(held)-1].ID, shipping.HoldEffect))
}

// DueBefore returns the effects that are due and that the order would skip if the event moved it now. For
// an event that can skip none it reads nothing. made reports whether the order has had the request already:
// its repeat skips nothing.
func (b *Backend) DueBefore(ctx context.Context, id transitions.OrderID, event workflow.Event, made func(*transitions.Order) bool) ([]inspect.Due, error) {
	if !slices.ContainsFunc(b.Orders.Definition().Groups(event), func(g workflow.Group) bool { return inspect.SkippedBy(g.To) != "" }) {
		return nil, nil
	}

	e, err := inspect.Explain(ctx, b.Orders, id)
	// An order that cannot be moved skips nothing; the request says why.
	if errors.Is(err, transitions.ErrUnknownOrder) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	i := slices.IndexFunc(e.Options, func(o inspect.Option) bool { return o.Event == event && o.Legal })
	if i < 0 || inspect.SkippedBy(e.Options[i].To) == "" || made(e.Order) {
		return nil, nil
	}

	// Only the effect of one handler can be skipped, and reports of the carrier never.
	around := b.Around()
	around.Handlers, around.Reports, around.Payment = []string{inspect.SkippedBy(e.Options[i].To)}, nil, nil

	due, unread := e.Due(ctx, around)
	for _, u := range unread {
		if u.Err != nil {
			err = errors.Join(err, errors.New(u.String()))
		}
	}

	return inspect.Skips(e.Options[i].To, due), err
}

// executionMoments returns when the order's current execution was started, and how it ended.
func (b *Backend) executionMoments(ctx context.Context, id transitions.OrderID) ([]inspect.Moment, error) {
	current, found, err := b.Executions.Current(ctx, id)
	if err != nil || !found {
		return nil, err
	}

	return momentsOf(id, current), nil
}

// momentsOf returns when the execution was started, and how it ended.
func momentsOf(id transitions.OrderID, x executions.Execution) []inspect.Moment {
	moments := []inspect.Moment{{At: x.StartedAt, Kind: inspect.AboutExecution, What: fmt.Sprintf("execution %s was started", x.Name)}}
	if x.Status == types.ExecutionStatusRunning {
		return moments
	}

	ended := inspect.Moment{At: x.StoppedAt, Kind: inspect.AboutExecution, What: fmt.Sprintf("execution %s ended: %s", x.Name, x.Status)}
	if x.Error != "" {
		ended.What += " with " + x.Error
	}

	if x.Failed() {
		ended.Next = fmt.Sprintf("`ratchet executions describe %s` shows why, `ratchet executions repair %s` brings it on", id.Arg(), id.Arg())
	}

	return append(moments, ended)
}
