package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/transitions"
)

// ErrBeforeOrder: the order did not exist at that moment.
var ErrBeforeOrder = errors.New("the order did not exist yet")

// View is an order's state at some moment of its past.
type View struct {
	OrderID transitions.OrderID `json:"orderId"`
	transitions.Facts
}

// StateAt returns where the order was at the moment. It goes through the transitions in the order
// of their ids, as they were made, and stops at the first one with a later time: two moments that
// are nearer than the difference of the machines' clocks cannot be told apart. Transitions that the
// journal does not have yet are taken from the order's ring.
//
// It returns [ErrBeforeOrder] when the order was placed later,
// [transitions.ErrUnknownOrder] when there is no such order, and
// [transitions.ErrJournalBehind] when journal and ring together leave a gap.
func StateAt(ctx context.Context, o *transitions.Orders, id transitions.OrderID, at time.Time) (View, error) {
	view, err := play(ctx, o, id, func(r transitions.Row) bool { return !r.At.After(at) })
	if err != nil {
		return View{}, fmt.Errorf("state of order %s at %s: %w", id, at.UTC().Format(time.RFC3339Nano), err)
	}

	return view, nil
}

// StateAfter returns where the order was after the transition, or after the last one
// before it when the id was skipped. It returns the errors of [StateAt].
func StateAfter(ctx context.Context, o *transitions.Orders, id transitions.OrderID, transition transitions.TransitionID) (View, error) {
	view, err := play(ctx, o, id, func(r transitions.Row) bool { return r.ID <= transition })
	if err != nil {
		return View{}, fmt.Errorf("state of order %s after transition %d: %w", id, transition, err)
	}

	return view, nil
}

// play replays the order's history while wanted accepts the rows.
func play(ctx context.Context, o *transitions.Orders, id transitions.OrderID, wanted func(transitions.Row) bool) (View, error) {
	if err := id.Validate(); err != nil {
		return View{}, err
	}

	view := View{OrderID: id}
	for row, err := range o.RowsOf(ctx, id, 0) {
		if err != nil {
			return View{}, err
		}

		if !wanted(row) {
			return view.orBefore() // the journal has no gaps below a row that it has, so nothing is missing
		}

		if err := view.Add(row); err != nil {
			return View{}, err
		}
	}

	// The journal has ended. Only the order itself proves that there are no more transitions.
	order, found, err := o.Get(ctx, id)
	switch {
	case err != nil:
		return View{}, err
	case !found && view.TransitionID == 0:
		return View{}, transitions.ErrUnknownOrder
	case !found:
		return view, nil // the order was deleted, its journal was not
	}

	rest, complete := order.Since(view.TransitionID)
	if !complete {
		return View{}, transitions.ErrJournalBehind
	}

	for _, row := range rest {
		if !wanted(row) {
			break
		}

		if err := view.Add(row); err != nil {
			return View{}, err
		}
	}

	return view.orBefore()
}

// orBefore is the view, or ErrBeforeOrder when it holds no transition.
func (v View) orBefore() (View, error) {
	if v.TransitionID == 0 {
		return View{}, ErrBeforeOrder
	}

	return v, nil
}
