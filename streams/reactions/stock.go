package reactions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/once/inventory"
	"ratchet/streams"
	"ratchet/transitions"
)

// commitStock turns the reservation of a shipped order into sold pieces. If the shop keeps no stock
// of the order's SKUs, there is nothing to commit. Afterwards the order can reserve nothing more.
func (r *Reactions) commitStock(ctx context.Context, c change) error {
	if err := r.cover(ctx, c.New); err != nil {
		return err
	}

	err := r.cfg.Stock.CommitAndClose(ctx, c.New.PlacedLifeID(), reservedBy(c.New)...)
	if errors.Is(err, inventory.ErrClosed) {
		// The reservation was released before the parcel left, so the stock's level is wrong and a
		// person has to count.
		return streams.Permanent(fmt.Errorf("order %s is shipped: %w", c.New.ID, err))
	}

	return err
}

// reservedBy returns what the execution of an order has reserved for it, unless the order was edited since;
// nil if another caller has paid it.
func reservedBy(order *transitions.Order) (lines []inventory.Line) {
	if !transitions.PaidByExecution(order.Recent()) || order.Readable("items") != nil {
		return nil
	}

	for _, item := range order.Items {
		lines = append(lines, inventory.Line{SKU: item.SKU, Quantity: item.Quantity})
	}

	return lines
}

// cover makes the reservation of a paid order contain the order's lines. If the execution has paid
// the order, it has reserved the lines before. Another caller may have paid the order before the
// execution began, or after an edit. If pieces are missing, cover returns an error, so the record
// is retried and in the end becomes a dead letter.
func (r *Reactions) cover(ctx context.Context, order *transitions.Order) error {
	if transitions.PaidByExecution(order.Recent()) {
		return nil
	}

	if err := order.Readable("items"); err != nil {
		return streams.Permanent(err)
	}

	lines, err := r.stocked(ctx, order.Items)
	if err != nil || len(lines) == 0 {
		return err
	}

	err = r.cfg.Stock.Adjust(ctx, order.PlacedLifeID(), lines)
	switch {
	case errors.Is(err, inventory.ErrClosed):
		return nil // the order has ended and closed its reservation
	case errors.Is(err, inventory.ErrInvalid):
		return streams.Permanent(err)
	}

	return err
}

// stocked returns the lines whose SKUs the shop keeps in its stock. It costs one read unit for each
// SKU.
func (r *Reactions) stocked(ctx context.Context, items []transitions.Item) (lines []inventory.Line, err error) {
	known := map[string]bool{}

	for _, item := range items {
		kept, seen := known[item.SKU]
		if !seen {
			_, kept, err = r.cfg.Stock.Level(ctx, item.SKU)
			if err != nil && !errors.Is(err, inventory.ErrInvalid) { // a stock cannot keep such a SKU
				return nil, err
			}
			known[item.SKU] = kept
		}

		if kept {
			lines = append(lines, inventory.Line{SKU: item.SKU, Quantity: item.Quantity})
		}
	}

	return lines, nil
}
