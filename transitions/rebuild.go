package transitions

import (
	"context"
	"fmt"
	"iter"
	"time"

	"ratchet/workflow"
)

// Row is one row of the journal: a transition, the id before it, and the version of
// the definition that made it.
type Row struct {
	Transition
	PreviousID        TransitionID `json:"previousId"`
	DefinitionVersion int          `json:"definitionVersion"`

	adopted bool // the first row of an order that others had moved before
}

// follows reports whether the row continues a chain that ends with the id, 0 for none.
func (r Row) follows(last TransitionID) bool {
	return r.PreviousID == last || last == 0 && r.adopted
}

// Facts are what an order's journal says about the order: all that transitions write.
type Facts struct {
	State             workflow.State `json:"state"`
	PreviousState     workflow.State `json:"previousState,omitempty"`
	TransitionID      TransitionID   `json:"transitionId"`
	DefinitionVersion int            `json:"definitionVersion"`
	// At is when the newest transition was made.
	At time.Time `json:"at,omitzero"`

	ring [RingSize]Transition
}

// Recent returns the transitions that the order's ring must hold, oldest first.
func (f Facts) Recent() []Transition {
	o := Order{TransitionID: f.TransitionID, ring: f.ring}
	return o.Recent()
}

// ChainError says where a journal stops being a chain.
type ChainError struct {
	// At is the row that does not fit; What says why.
	At   TransitionID
	What string
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("%v at transition %d: %s", ErrJournalBroken, e.At, e.What)
}

// Is reports whether target is ErrJournalBroken.
func (e *ChainError) Is(target error) bool { return target == ErrJournalBroken }

// Rebuild computes what an order must be from its journal's rows, oldest first. It
// reads nothing else: not the order, not the definition. Without rows it returns no
// facts. Rows that are no chain (each must name the id and the state before it) end in
// a [*ChainError] together with the facts up to there; errors of the sequence are
// passed on.
func Rebuild(rows iter.Seq2[Row, error]) (Facts, error) {
	var f Facts
	for row, err := range rows {
		if err != nil {
			return f, err
		}

		if err := f.add(row); err != nil {
			return f, err
		}
	}

	return f, nil
}

// add moves the facts on by one row.
func (f *Facts) add(row Row) error {
	switch {
	case !row.follows(f.TransitionID):
		return &ChainError{row.ID, fmt.Sprintf("it follows transition %d, but the row before it is %d", row.PreviousID, f.TransitionID)}
	case row.ID <= f.TransitionID:
		return &ChainError{row.ID, fmt.Sprintf("it comes after transition %d", f.TransitionID)}
	case f.TransitionID != 0 && row.From != f.State:
		return &ChainError{row.ID, fmt.Sprintf("it leaves %s, but the order was %s", row.From, f.State)}
	}
	f.State, f.PreviousState, f.TransitionID = row.To, row.From, row.ID
	f.DefinitionVersion, f.At = row.DefinitionVersion, row.At
	f.ring[row.ID%RingSize] = row.Transition

	return nil
}

// Rows returns the order's journal, oldest first, from the row after the given id. It
// is read page by page while the caller goes on.
func (o *Orders) Rows(ctx context.Context, id OrderID, after TransitionID) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if o.cfg.JournalTable == "" {
			yield(Row{}, fmt.Errorf("journal of order %s: no journal table is configured", id))
			return
		}

		err := o.journal(ctx, id, after+1, 0, func(r Row) bool { return yield(r, nil) })
		if err != nil {
			yield(Row{}, fmt.Errorf("journal of order %s: %w", id, err))
		}
	}
}

// View is an order's state at some moment of its past.
type View struct {
	OrderID OrderID `json:"orderId"`
	Facts
}

// StateAt returns where the order stood at the moment. Transitions are taken in the
// order of their ids, as they were made, and the first one with a later time ends the
// view: clocks of different machines decide only how near two moments may be told
// apart. What the journal does not have yet is taken from the order's ring;
// ErrJournalBehind says that both together leave a gap.
func (o *Orders) StateAt(ctx context.Context, id OrderID, at time.Time) (View, error) {
	view, err := o.view(ctx, id, func(r Row) bool { return !r.At.After(at) })
	if err == nil && view.TransitionID == 0 {
		err = ErrBeforeOrder
	}

	if err != nil {
		return View{}, fmt.Errorf("state of order %s at %s: %w", id, at.UTC().Format(time.RFC3339Nano), err)
	}

	return view, nil
}

// StateAfter returns where the order stood after the transition, or after the last
// one before it when the id was skipped.
func (o *Orders) StateAfter(ctx context.Context, id OrderID, transition TransitionID) (View, error) {
	view, err := o.view(ctx, id, func(r Row) bool { return r.ID <= transition })
	if err == nil && view.TransitionID == 0 {
		err = ErrBeforeOrder
	}

	if err != nil {
		return View{}, fmt.Errorf("state of order %s after transition %d: %w", id, transition, err)
	}

	return view, nil
}

// view plays the order's history as long as fn wants.
func (o *Orders) view(ctx context.Context, id OrderID, fn func(Row) bool) (View, error) {
	if !orderIDRule.holds(string(id)) {
		return View{}, fmt.Errorf("%w: orderId %q: 1 to 128 characters of A-Z a-z 0-9 _ . : -", ErrInvalidRequest, clip(string(id)))
	}

	view := View{OrderID: id}
	for row, err := range o.Rows(ctx, id, 0) {
		if err != nil {
			return View{}, err
		}

		if !fn(row) {
			return view, nil // a later row proves that nothing is missing
		}

		if err := view.add(row); err != nil {
			return View{}, err
		}
	}
	// The journal has ended: only the order itself tells whether that was all.
	order, found, err := o.Get(ctx, id)
	switch {
	case err != nil:
		return View{}, err
	case !found && view.TransitionID == 0:
		return View{}, ErrUnknownOrder
	case !found:
		return view, nil // the order was deleted; its journal was not
	}

	rest, complete := order.since(view.TransitionID)
	for _, row := range rest {
		if !complete {
			break
		}

		if !fn(row) {
			return view, nil
		}

		if err := view.add(row); err != nil {
			return View{}, err
		}
	}

	if !complete {
		return View{}, ErrJournalBehind
	}

	return view, nil
}

// since returns what the ring holds of the transitions after the id, as rows, and
// whether those are all. The ring does not keep versions: only the newest row has one.
func (o *Order) since(last TransitionID) (rows []Row, complete bool) {
	newest := last
	for _, t := range o.Recent() {
		if t.ID <= last || t.ID > o.TransitionID {
			continue
		}

		row := Row{Transition: t, PreviousID: newest}
		if newest = t.ID; newest == o.TransitionID {
			row.DefinitionVersion = o.DefinitionVersion
		}
		rows = append(rows, row)
	}

	return rows, newest >= o.TransitionID && last >= o.oldestForgotten()
}
