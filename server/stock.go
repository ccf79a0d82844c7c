package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ratchet/inventory"
	"ratchet/transitions"
	"ratchet/txn"
)

// addAttempts bounds how often an order makes room before lines are added to it.
const addAttempts = 3

// AddItems adds lines to an order and sets their pieces aside for it, in ONE
// transaction of at most 100 actions: the record that it was done (under the order and
// Edit.EventID), the order, its reservation, and each SKU. A repeat is Replayed,
// without the order. Verdicts are those of transitions.Orders.AddItems;
// inventory.ErrOutOfStock names the SKUs that lack pieces, and nothing is written then.
func (b *Backend) AddItems(ctx context.Context, e transitions.Edit, lines ...transitions.Item) (transitions.EditResult, error) {
	result, err := b.addItems(ctx, e, lines)
	if err != nil {
		return transitions.EditResult{}, fmt.Errorf("add items to order %s: %w", e.OrderID, err)
	}

	return result, nil
}

func (b *Backend) addItems(ctx context.Context, e transitions.Edit, lines []transitions.Item) (transitions.EditResult, error) {
	payload, err := json.Marshal(lines)
	if err != nil {
		return transitions.EditResult{}, err
	}

	pieces := make([]inventory.Line, len(lines))
	for i, l := range lines {
		pieces[i] = inventory.Line{SKU: l.SKU, Quantity: l.Quantity}
	}

	for range addAttempts {
		order, err := b.Orders.AddItemsIn(e, lines...)
		if err != nil {
			return editRefused(err)
		}

		stock, err := b.Stock.AddIn(string(e.OrderID), pieces)
		if err != nil {
			return transitions.EditResult{}, err
		}

		_, replayed, err := b.Claims.DoInTransaction(ctx, fmt.Sprintf("add-items/%s/%s", e.OrderID, e.EventID), payload, nil,
			func(t *txn.Transaction) {
				order(t)
				stock(t)
			})
		if err == nil {
			verdict := transitions.Applied
			if replayed {
				verdict = transitions.Replayed
			}

			return transitions.EditResult{Verdict: verdict}, nil
		}

		result, err := editRefused(err)
		if err != nil || result.Verdict != 0 {
			return result, err
		}
		e.Seen = result.Order
	}

	return transitions.EditResult{}, transitions.ErrContended
}

// editRefused turns the order's refusal into a result. An edit that the order knows,
// but that has no record here, was made without stock.
func editRefused(err error) (transitions.EditResult, error) {
	var refused *transitions.EditRefused
	if !errors.As(err, &refused) {
		return transitions.EditResult{}, err
	}

	result := refused.Result
	if result.Verdict == transitions.Replayed || result.Verdict == transitions.Applied {
		result.Verdict, result.Reason = transitions.Conflict, "the event id was used for an edit without stock"
	}

	return result, nil
}

// swept is told what each sweep of expired reservations did.
func (b *Backend) swept(count int, err error) {
	switch {
	case err != nil:
		b.log.Warn("sweep of expired reservations; the next one goes on", "error", err)
	case count > 0:
		b.log.Debug("expired reservations swept", "count", count)
	}
}
