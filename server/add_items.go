package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ratchet/internal/ids"
	"ratchet/once/inventory"
	"ratchet/once/txn"
	"ratchet/transitions"
)

// addAttempts is how often AddItems tries, because the first attempts may have to read the order; see
// [transitions.EditRefusedError].
const addAttempts = 3

// AddItems adds lines to an order and reserves their pieces, in one transaction of at most 100 actions:
// the claim under the order and Edit.EventID, the order, its reservation, and each SKU. A repeat is
// Replayed while the claim is kept or the order remembers the edit. The result may have no order.
//
// AddItems has the verdicts of [transitions.Orders.AddItems]. It fails with [inventory.ErrOutOfStock],
// which names the SKUs, if pieces are missing; with [transitions.ErrOrderFull] if the order would have
// more than 97 SKUs; and with [transitions.ErrContended] if other edits kept changing the order. After
// these errors nothing is written.
func (b *Backend) AddItems(ctx context.Context, edit transitions.Edit, lines ...transitions.Item) (transitions.Result, error) {
	pieces := make([]inventory.Line, len(lines))
	for i, line := range lines {
		pieces[i] = inventory.Line{SKU: line.SKU, Quantity: line.Quantity}
	}

	result, err := b.addItems(ctx, edit, lines, pieces)

	// Some tests have a Backend without a log of refusals.
	if errors.Is(err, inventory.ErrOutOfStock) && b.Refusals != nil {
		b.noteOutOfStock(edit, pieces)
	}

	if err != nil {
		return transitions.Result{}, fmt.Errorf("add items to order %s: %w", edit.OrderID, err)
	}

	return result, nil
}

func (b *Backend) addItems(ctx context.Context, edit transitions.Edit, lines []transitions.Item, pieces []inventory.Line) (transitions.Result, error) {
	payload, err := json.Marshal(lines)
	if !edit.Own.IsZero() {
		payload, err = json.Marshal(map[string]any{"items": lines, "own": edit.Own})
	}

	if err != nil {
		return transitions.Result{}, err
	}

	// Part of the edit's content: an edit under the same event id that reserves no stock is another edit.
	edit.With = "stock"

	// The reservation is the one of the order's present life.
	order, found, err := b.Orders.Get(ctx, edit.OrderID)
	if err != nil || !found {
		return transitions.Result{Verdict: transitions.NotFound}, err
	}

	key := fmt.Sprintf("add-items/%s/%s", ids.Encode(order.LifeID()), edit.EventID)
	for range addAttempts {
		addToOrder, err := b.Orders.AddItemsIn(edit, lines...)
		if err != nil {
			return asEditResult(err)
		}

		addToReservation, err := b.Stock.AddIn(order.PlacedLifeID(), pieces)
		if err != nil {
			return transitions.Result{}, err
		}

		_, replayed, err := b.Claims.DoInTransaction(ctx, key, payload, nil, func(t *txn.Transaction) {
			addToOrder(t)
			addToReservation(t)
		})
		if err == nil {
			verdict := transitions.Applied
			if replayed {
				verdict = transitions.Replayed
			}

			return transitions.Result{Verdict: verdict}, nil
		}

		result, err := asEditResult(err)
		if err != nil || result.Verdict != 0 {
			return result, err
		}

		// Verdict 0 asks for another attempt with the order: the order remembers as many edits as it can,
		// or its SKUs have to be counted. With Seen the edit can drop the oldest ids and count the SKUs.
		edit.Seen = result.Order
	}

	return transitions.Result{}, transitions.ErrContended
}

// asEditResult returns the result of a [transitions.EditRefusedError], or any other error as AddItems would. The
// result is Replayed if the order remembers the edit, even after the claim's retention.
func asEditResult(err error) (transitions.Result, error) {
	var large *txn.ItemSizeError
	if errors.As(err, &large) {
		return transitions.Result{}, fmt.Errorf("%w: %w", transitions.ErrOrderFull, err)
	}

	var refused *transitions.EditRefusedError
	if !errors.As(err, &refused) {
		return transitions.Result{}, err
	}

	return refused.Result, nil
}

// logSweep logs the result of a sweep of expired reservations.
func (b *Backend) logSweep(count int, err error) {
	switch {
	case err != nil:
		b.log.Warn("a sweep of expired reservations failed; the next one continues", "error", err)
	case count > 0:
		b.log.Debug("expired reservations swept", "count", count)
	}
}
