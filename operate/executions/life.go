package executions

import (
	"context"

	"ratchet/transitions"
)

// OfLife returns the executions that have brought on the present life of the order, or all of its id if there is
// no such order, oldest first. It makes the same calls as [Executions.Current].
func (e *Executions) OfLife(ctx context.Context, id transitions.OrderID) (chain []Execution, err error) {
	order, exists, err := e.cfg.Orders.Get(ctx, id)
	if err != nil {
		return nil, err
	}

	_, _, err = e.last(ctx, id, func(x Execution) bool {
		own := !exists || x.bringsOn(order)
		if own {
			chain = append(chain, x)
		}

		return own
	})

	return chain, err
}
