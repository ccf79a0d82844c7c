package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/plural"
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
		Stock:       b.Stock,
		ShipmentDue: b.shipmentDue,
		Payment:     b.paymentOf,
		Hold:        b.holdAnswer,
		Handlers:    b.EveryHandlerName(),
		Refusals:    b.Refusals,
		Scheduled:   b.Scheduled,
	}
}

// claimsKept is how long the claim of a booking is kept. Of an older payment nothing is known.
const claimsKept = 30 * 24 * time.Hour

// shipmentDue reports whether the order is to be shipped and no booking is stored.
func (b *Backend) shipmentDue(ctx context.Context, order *transitions.Order) (bool, error) {
	definition := b.Orders.Definition()
	if !definition.AwaitsShipment(order.State) {
		return false, nil
	}

	began, err := b.Orders.TransitionsBy(ctx, order, definition.BookedBy()...)
	if err != nil || len(began) == 0 || time.Since(began[len(began)-1].At) > claimsKept {
		return false, err
	}

	booked, err := b.Booker.Booked(ctx, order.EffectKey(began[len(began)-1].ID, shipping.Effect), string(order.ID))

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
	d := b.Orders.Definition()
	holds := slices.DeleteFunc(d.Events(), func(e workflow.Event) bool { return !slices.ContainsFunc(d.Targets(e), d.HoldsShipment) })

	held, err := b.Orders.TransitionsBy(ctx, order, holds...)
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
	skippedBy := func(to workflow.State) string { return inspect.SkippedBy(b.Orders.Definition(), to) }
	if !slices.ContainsFunc(b.Orders.Definition().Targets(event), func(to workflow.State) bool { return skippedBy(to) != "" }) {
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
	if i < 0 || skippedBy(e.Options[i].To) == "" || made(e.Order) {
		return nil, nil
	}

	// Only the effect of one handler can be skipped, and reports of the carrier never.
	around := b.Around()
	around.Handlers, around.Reports, around.Payment = []string{skippedBy(e.Options[i].To)}, nil, nil

	due, unread := e.Due(ctx, around)
	for _, u := range unread {
		if u.Err != nil {
			err = errors.Join(err, errors.New(u.String()))
		}
	}

	return inspect.Skips(b.Orders.Definition(), e.Options[i].To, due), err
}

// executionMoments returns when the executions of the order's life were started and redriven, and how they ended.
func (b *Backend) executionMoments(ctx context.Context, id transitions.OrderID) (moments []inspect.Moment, err error) {
	chain, err := b.Executions.OfLife(ctx, id)
	for i, x := range chain {
		moments = append(moments, momentsOf(id, x, i == len(chain)-1)...)
	}

	return moments, err
}

// momentsOf returns when the execution was started and redriven, and how it ended. Only the current one is to be
// repaired.
func momentsOf(id transitions.OrderID, x executions.Execution, current bool) []inspect.Moment {
	at := func(when time.Time, status, what string) inspect.Moment {
		return inspect.Moment{At: when, Kind: inspect.AboutExecution, What: fmt.Sprintf("execution %s %s", x.Name, what), Ref: inspect.Ref{Execution: x.Name, Status: status}}
	}

	moments := []inspect.Moment{at(x.StartedAt, "STARTED", "was started")}
	// Step Functions says how often, and when the newest redrive began.
	if x.Redrives > 0 {
		redriven := at(x.RedrivenAt, "REDRIVEN", fmt.Sprintf("was redriven, %s in all", plural.Of(x.Redrives, "time")))
		redriven.Ref.Count = int64(x.Redrives)
		moments = append(moments, redriven)
	}

	if x.Status == types.ExecutionStatusRunning {
		return moments
	}

	ended := at(x.StoppedAt, string(x.Status), fmt.Sprintf("ended: %s", x.Status))
	if ended.Ref.Error = x.Error; x.Error != "" {
		ended.What += " with " + x.Error
	}

	if x.Failed() && current {
		ended.Next = fmt.Sprintf("`ratchet executions get %s` shows why, `ratchet executions repair %s` brings it on", id.Arg(), id.Arg())
	}

	return append(moments, ended)
}
