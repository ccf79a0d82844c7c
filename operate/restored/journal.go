package restored

import (
	"context"
	"errors"
	"fmt"

	"ratchet/transitions"
)

// journal makes an order and its journal agree, and returns the order as it is then. It returns nil for an order
// that a person must look at.
func (r *Repair) journal(ctx context.Context, order *transitions.Order) (*transitions.Order, error) {
	if !r.cfg.Orders.HasJournal() {
		return order, nil
	}

	last, err := r.lastRow(ctx, order)

	var broken *transitions.JournalError
	switch {
	case errors.As(err, &broken), errors.Is(err, transitions.ErrUnreadable):
		r.leave(order.ID, err)
		return nil, nil
	case err != nil:
		return nil, err
	case last > order.TransitionID:
		return r.forward(ctx, order)
	case last < order.TransitionID:
		return r.fill(ctx, order, last)
	}

	return order, nil
}

// lastRow returns the id of the last row of the order's journal, 0 if it has none.
func (r *Repair) lastRow(ctx context.Context, order *transitions.Order) (last transitions.TransitionID, err error) {
	for row, err := range r.cfg.Orders.Rows(ctx, order, 0) {
		if err != nil {
			return 0, err
		}
		last = row.ID
	}

	return last, nil
}

// forward brings an order to the end of its journal.
func (r *Repair) forward(ctx context.Context, order *transitions.Order) (*transitions.Order, error) {
	_, err := r.cfg.Orders.Restore(ctx, order.ID, !r.cfg.DryRun)

	var broken *transitions.JournalError
	if errors.As(err, &broken) || errors.Is(err, transitions.ErrContended) {
		r.leave(order.ID, err)
		return nil, nil
	}

	if err != nil {
		return nil, err
	}
	r.count(func(report *Report) { report.Forward++ })

	return r.now(ctx, order.ID)
}

// now reads an order again, which is there because nothing else writes.
func (r *Repair) now(ctx context.Context, id transitions.OrderID) (*transitions.Order, error) {
	order, found, err := r.cfg.Orders.Get(ctx, id)
	if err == nil && !found {
		err = fmt.Errorf("order %s: %w", id, transitions.ErrUnknownOrder)
	}

	return order, err
}

// fill writes the rows behind the last one of the journal from the order's newest transitions, and closes what they do
// not reach.
func (r *Repair) fill(ctx context.Context, order *transitions.Order, last transitions.TransitionID) (*transitions.Order, error) {
	item, err := r.item(ctx, order.ID)
	if err != nil {
		return nil, err
	}

	versions, _, err := r.cfg.Orders.Mapping().Provable(item)
	if err != nil {
		return nil, err
	}

	for _, v := range versions {
		// A transition of an earlier life has its row in that life's journal, where Record would not write it.
		if v.Transition.ID <= last || order.LifeAt(v.Transition.ID) != order.Incarnation || r.cfg.DryRun {
			continue
		}

		change, _, err := r.cfg.Orders.Mapping().FromRecord(v.Old, v.New)
		if err == nil {
			err = r.cfg.Orders.Record(ctx, change)
		}

		if errors.Is(err, transitions.ErrJournalAhead) {
			r.leave(order.ID, err)
			return nil, nil
		}

		if err != nil {
			return nil, err
		}
	}
	r.count(func(report *Report) { report.Filled++ })

	closed := false
	if !r.cfg.DryRun {
		if closed, err = r.cfg.Orders.CloseJournal(ctx, item); err != nil {
			return nil, err
		}
	}

	if closed {
		r.count(func(report *Report) { report.Lost++ })
	}

	return order, nil
}
