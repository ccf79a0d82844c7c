package reactions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/inventory"
	"ratchet/streams"
)

// commitStock turns the reservation of a shipped order into sold pieces. An order without a
// reservation has nothing to commit, and a reservation that arrives late is refused.
func (r *Reactions) commitStock(ctx context.Context, c change) error {
	err := r.cfg.Stock.Settle(ctx, string(c.New.ID))
	if errors.Is(err, inventory.ErrClosed) {
		// The pieces have left, and were given back to the stock before: a person counts.
		return streams.Permanent(fmt.Errorf("order %s is shipped: %w", c.New.ID, err))
	}

	return err
}
