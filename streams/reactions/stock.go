package reactions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/inventory"
	"ratchet/streams"
)

// commitStock turns the reservation of a shipped order into sold pieces. An order without a
// reservation has nothing to commit.
func (r *Reactions) commitStock(ctx context.Context, c change) error {
	order := string(c.New.ID)

	err := r.cfg.Stock.Commit(ctx, order)
	if !errors.Is(err, inventory.ErrClosed) {
		return err
	}

	if _, reserved, readErr := r.cfg.Stock.Reservation(ctx, order); readErr != nil || !reserved {
		return readErr
	}

	// The pieces have left, and were given back to the stock before: a person counts.
	return streams.Permanent(fmt.Errorf("order %s is shipped: %w", order, err))
}
