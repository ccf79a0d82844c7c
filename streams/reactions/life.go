package reactions

import (
	"context"

	"ratchet/transitions"
)

// present returns the change as the order's present life has it, and the order as it is now. It returns no
// order if the order was deleted, or if its id belongs to another order by now.
//
// An order that was renewed since ([transitions.Orders.Renew]) is the same order in another life. An effect
// of a transition that the order made before keeps its key. The effects of another order keep their own
// keys, and must not depend on, or move, the order that has the id now.
func (r *Reactions) present(ctx context.Context, c change) (change, *transitions.Order, error) {
	order, found, err := r.cfg.Orders.Get(ctx, c.New.ID)
	switch {
	case err != nil || !found:
		return c, nil, err
	case order.Incarnation == c.New.Incarnation:
		return c, order, nil
	case !order.CreatedAt.Equal(c.New.CreatedAt):
		return c, nil, nil
	}

	c.New = c.New.InLife(order)

	return c, order, nil
}
