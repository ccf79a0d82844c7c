package restored

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// moveOn moves an order by what the processor and the carrier know of it, while it is in the life in which it was paid
// and shipped: the effects of these transitions then have the keys under which they were made. It returns the order as
// it is then.
func (r *Repair) moveOn(ctx context.Context, order *transitions.Order, taken bool) (*transitions.Order, error) {
	before := order.TransitionID

	if d := r.cfg.Orders.Definition(); taken && len(d.Choices(order.State, workflow.Pay)) > 0 {
		moved, err := r.pay(ctx, order)
		if err != nil {
			return order, err
		}
		order = moved
	}

	order, err := r.shipped(ctx, order)
	if err == nil && order.TransitionID > before {
		r.count(func(report *Report) { report.Moved++ })
	}

	return order, err
}

// pay makes the transition that the order's execution makes when the money is taken.
func (r *Repair) pay(ctx context.Context, order *transitions.Order) (*transitions.Order, error) {
	if r.cfg.DryRun {
		r.count(func(report *Report) { report.Moved++ })
		return order, nil
	}

	made, err := r.cfg.Orders.Apply(ctx, transitions.Request{
		OrderID: order.ID, Event: workflow.Pay, TransitionID: order.TransitionID + 1, Incarnation: order.Incarnation,
		RequestID: transitions.PaidRequest, IfContent: &order.ContentVersion,
		Cause: transitions.Cause{Source: "cli", Code: "restored", Text: "the bank has its payment"},
	})
	if err != nil {
		return nil, err
	}

	if !made.Verdict.Done() {
		r.leave(order.ID, fmt.Errorf("the bank has its payment, and the order cannot be paid: %s", made.Verdict))
		return order, nil
	}

	return made.Order, nil
}

// shipped takes the milestones that the carrier knows of the order's shipment as reports: the carrier does not
// repeat a report that was accepted before.
func (r *Repair) shipped(ctx context.Context, order *transitions.Order) (*transitions.Order, error) {
	d := r.cfg.Orders.Definition()
	if r.cfg.Shop.Asker == nil || !d.AwaitsShipment(order.State) && !slices.Contains(d.Gone(), order.State) || order.Parcels() > 0 {
		return order, nil
	}

	booked, err := r.cfg.Orders.TransitionsBy(ctx, order, d.BookedBy()...)
	if err != nil || len(booked) == 0 {
		return order, err
	}
	key := order.EffectKey(booked[len(booked)-1].ID, shipping.Effect)

	known, err := r.cfg.Shop.Asker.Get(ctx, key)
	if errors.Is(err, shipping.ErrUnknownShipment) {
		return order, nil
	}

	if err != nil {
		return order, fmt.Errorf("ask the carrier for shipment %s: %w", key, err)
	}

	for _, m := range []shipping.Milestone{shipping.Shipped, shipping.Delivered, shipping.Returned} {
		report := shipping.Report{ID: "restored/" + string(m), Shipment: key, OrderID: string(order.ID), Milestone: m, Tracking: known.Tracking}
		if !known.Confirms(report) || m == shipping.Returned && known.Status != m {
			continue
		}

		if r.cfg.DryRun {
			continue
		}

		if _, err := r.cfg.Shop.Reports.Receive(ctx, report); err != nil {
			return order, err
		}
	}

	return r.now(ctx, order.ID)
}
