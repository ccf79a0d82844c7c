package restored

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/transitions"
	"ratchet/workflow"
)

// effects brings back what the order has outside of its item: its payment, its pieces, and what the processor and
// the carrier know of it. It returns the order as it is then.
func (r *Repair) effects(ctx context.Context, order *transitions.Order) (*transitions.Order, error) {
	if err := order.Readable("total", "items"); err != nil {
		r.leave(order.ID, err)
		return order, nil
	}

	paid, err := r.cfg.Orders.TransitionsBy(ctx, order, workflow.Pay)
	if errors.Is(err, transitions.ErrEvidenceGone) || errors.Is(err, transitions.ErrJournalBehind) {
		paid, err = nil, nil // a dry run has closed no journal
	}

	if err != nil {
		return order, err
	}

	// The pieces of an order that must not go on are not taken from others.
	taken, err := r.payment(ctx, order, paid)
	if err != nil || r.isHeld(order.ID) {
		return order, err
	}

	moved, err := r.moveOn(ctx, order, taken)
	if err != nil || r.isHeld(order.ID) {
		return order, err
	}

	return moved, r.pieces(ctx, moved)
}

// payment asks for a payment again that the processor has made and the tables lack. Its key is the one of then, so the
// processor answers what it did. It reports whether the order's money is taken or held.
func (r *Repair) payment(ctx context.Context, order *transitions.Order, paid []transitions.Transition) (bool, error) {
	if order.Total.Amount == 0 {
		return false, nil
	}

	id, err := r.cfg.Shop.Payments.OfOrder(ctx, order.LifeIDs())
	if err != nil {
		return false, err
	}

	p, err := r.cfg.Shop.Payments.Get(ctx, id)
	switch {
	case errors.Is(err, payments.ErrUnknownPayment):
		return r.recall(ctx, order, paid)
	case err != nil:
		return false, err
	case r.goesOut(order) && len(paid) > 0 && p.Pending == nil && p.Capturable+p.Captured-p.Refunded <= 0:
		r.leave(order.ID, fmt.Errorf("it is %s, and its payment %s is %s: cancel the order, or move it on by hand", order.State, id, p.State))
		return false, nil
	}

	// Money that is under way is taken or not: the execution asks again.
	return p.Pending == nil && p.Capturable+p.Captured-p.Refunded > 0, nil
}

// recall opens the payment of one of the order's lives again that the processor knows.
func (r *Repair) recall(ctx context.Context, order *transitions.Order, paid []transitions.Transition) (bool, error) {
	accounts := payments.AccountsForOrders(order.Total.Currency)

	for _, life := range lives(order, paid) {
		n := payments.NewPayment{
			ID: payments.IDForOrder(life), OrderID: string(order.ID),
			Payer: accounts.Payer, Payee: accounts.Payee,
			Amount: order.Total.Amount, Currency: order.Total.Currency,
		}

		found, err := r.cfg.Shop.Payments.Recall(ctx, n, r.cfg.DryRun)
		if errors.Is(err, ledger.ErrUnknownAccount) {
			if _, err := payments.OpenOrderAccounts(ctx, r.cfg.Shop.Ledger, n.Currency); err != nil {
				return false, err
			}

			found, err = r.cfg.Shop.Payments.Recall(ctx, n, r.cfg.DryRun)
		}

		switch {
		// Nothing was paid, and the money that was held went back before: the order may be paid in its next life.
		case errors.Is(err, payments.ErrVoided) && len(paid) == 0:
			continue
		case errors.Is(err, payments.ErrVoided), errors.Is(err, payments.ErrConflict), errors.Is(err, payments.ErrDeclined):
			r.leave(order.ID, err)
			return false, nil
		case err != nil:
			return false, err
		case found:
			r.count(func(report *Report) { report.Payments++ })
			return true, nil
		}
	}

	return false, nil
}

// lives returns the names of the lives in which the order may have been paid, the most probable one first.
func lives(order *transitions.Order, paid []transitions.Transition) (names []string) {
	for _, made := range slices.Backward(paid) {
		names = append(names, order.ID.Life(order.LifeAt(made.ID)))
	}

	for _, name := range order.LifeIDs() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	return names
}

// goesOut reports whether the order is to be shipped.
func (r *Repair) goesOut(order *transitions.Order) bool {
	d := r.cfg.Orders.Definition()

	return d.AwaitsShipment(order.State) || d.HoldsShipment(order.State)
}

// pieces reserves the lines of a paid order that has no reservation. The reactions to its later transitions
// then sell them or give them back.
func (r *Repair) pieces(ctx context.Context, order *transitions.Order) error {
	left := func(s workflow.State) bool { return order.State == s || order.Reached(s, 0) }
	if !r.goesOut(order) && !slices.ContainsFunc(r.cfg.Orders.Definition().Gone(), left) {
		return nil
	}

	name := order.PlacedLifeID()

	now, found, err := r.cfg.Shop.Stock.Reservation(ctx, name)
	if err != nil || found && now.Status != inventory.Expired {
		return err
	}

	lines, err := r.stocked(ctx, order.Items)
	if err != nil || len(lines) == 0 {
		return err
	}

	if !r.cfg.DryRun {
		err = r.cfg.Shop.Stock.Adjust(ctx, name, lines)
	}

	switch {
	case errors.Is(err, inventory.ErrOutOfStock), errors.Is(err, inventory.ErrClosed):
		r.leave(order.ID, fmt.Errorf("its pieces are not reserved: %w", err))
		return nil
	case err != nil:
		return err
	}
	r.count(func(report *Report) { report.Reserved++ })

	return nil
}

// stocked returns the lines of which the shop keeps stock.
func (r *Repair) stocked(ctx context.Context, items []transitions.Item) (lines []inventory.Line, err error) {
	for _, item := range items {
		_, known, err := r.cfg.Shop.Stock.Level(ctx, item.SKU)
		if err != nil && !errors.Is(err, inventory.ErrInvalid) { // a stock cannot keep such a SKU
			return nil, err
		}

		if known {
			lines = append(lines, inventory.Line{SKU: item.SKU, Quantity: item.Quantity})
		}
	}

	return lines, nil
}
