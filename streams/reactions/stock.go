package reactions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/inventory"
	"ratchet/streams"
	"ratchet/transitions"
)

// commitStock turns the reservation of a shipped order into sold pieces. An order without a
// reservation has nothing to commit, and a reservation that arrives late is refused.
func (r *Reactions) commitStock(ctx context.Context, c change) error {
	if err := r.coverEdits(ctx, c.New); err != nil {
		return err
	}

	err := r.cfg.Stock.Settle(ctx, string(c.New.ID))
	if errors.Is(err, inventory.ErrClosed) {
		// The pieces have left, and were given back to the stock before: a person counts.
		return streams.Permanent(fmt.Errorf("order %s is shipped: %w", c.New.ID, err))
	}

	return err
}

// coverEdits makes the reservation of an order that was edited hold what has been shipped: it may
// have been paid and shipped before its execution could do so. Pieces that are missing are waited
// for, and in the end a person counts.
func (r *Reactions) coverEdits(ctx context.Context, order *transitions.Order) error {
	if order.ContentVersion == 0 {
		return nil
	}

	if _, reserved, err := r.cfg.Stock.Reservation(ctx, string(order.ID)); err != nil || !reserved {
		return err
	}

	lines := make([]inventory.Line, len(order.Items))
	for i, item := range order.Items {
		lines[i] = inventory.Line{SKU: item.SKU, Quantity: item.Quantity}
	}

	err := r.cfg.Stock.Adjust(ctx, string(order.ID), lines)
	if errors.Is(err, inventory.ErrClosed) {
		return nil // Settle says whether that is right
	}

	return err
}
