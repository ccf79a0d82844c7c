package server

import (
	"context"
	"errors"
	"slices"

	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

// PaidElsewhere reports whether the order was paid and has no payment here: it had been paid when it came here, or
// another caller has paid it.
func (b *Backend) PaidElsewhere(ctx context.Context, order *transitions.Order) (bool, error) {
	_, here, err := b.paymentOf(ctx, order)
	if err != nil || here {
		return false, err
	}

	made, err := b.Orders.TransitionsBy(ctx, order, workflow.Pay, workflow.Imported)

	return slices.ContainsFunc(made, func(t transitions.Transition) bool { return inspect.PaidElsewhere(b.Orders.Definition(), t) }), err
}

// PaysElsewhere reports whether the name of a payment, which is not here, is the id of an order that was paid elsewhere,
// or the name of one of its lives: another program's file about this order is no mismatch.
func (b *Backend) PaysElsewhere(ctx context.Context, payment string) (bool, error) {
	for _, id := range []transitions.OrderID{transitions.OrderID(payment), transitions.OrderOfLife(payment)} {
		if id.Validate() != nil {
			continue
		}

		order, found, err := b.Orders.Get(ctx, id)
		if errors.Is(err, transitions.ErrUnreadable) {
			continue
		}

		if err != nil {
			return false, err
		}

		if !found {
			continue
		}

		if elsewhere, err := b.PaidElsewhere(ctx, order); err != nil || elsewhere {
			return elsewhere, err
		}
	}

	return false, nil
}
