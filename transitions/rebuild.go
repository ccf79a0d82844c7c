package transitions

import (
	"context"
	"fmt"
	"iter"
	"time"

	"ratchet/workflow"
)

// Row is one row of the journal: a transition, the id before it, and the version of the
// definition that made the transition.
type Row struct {
	Transition
	PreviousID        TransitionID `json:"previousId"`
	DefinitionVersion int          `json:"definitionVersion"`
	// Own are the own attributes that the transition has set and removed, if the row has them: see
	// [Config].JournalOwn. They are in it whichever program has changed them.
	Own OwnChange `json:"own,omitzero"`

	life    Incarnation // under which the row is stored
	adopted bool        // the first row of an order that another program had moved before
	lost    bool        // stands for rows that are lost for good; see CloseJournal
}

// Lost reports whether the row stands for transitions that are lost for good: with ids after
// PreviousID and up to the row's own id.
func (r Row) Lost() bool { return r.lost }

// Follows reports whether the row continues a chain of rows that ends with the id. If last
// is 0, it reports whether the row begins a chain.
func (r Row) Follows(last TransitionID) bool {
	// A lost row follows a later row, too: one of the rows that it stands for has come after all.
	return r.PreviousID == last || last == 0 && r.adopted || r.lost && r.PreviousID <= last
}

// Facts is the part of an order that its journal proves: everything that transitions
// write. The zero Facts belong to an empty journal.
type Facts struct {
	State             workflow.State `json:"state"`
	PreviousState     workflow.State `json:"previousState,omitempty"`
	TransitionID      TransitionID   `json:"transitionId"`
	DefinitionVersion int            `json:"definitionVersion"`
	// At is when the newest transition was made.
	At time.Time `json:"at,omitzero"`

	enteredAt time.Time // when the state was entered, zero if no row tells
	ring      [ringSize]Transition
}

// Recent returns the transitions that the order's ring should hold, oldest first.
func (f Facts) Recent() []Transition {
	o := Order{TransitionID: f.TransitionID, ring: f.ring}
	return o.Recent()
}

// JournalError says which row of a journal cannot be read, or does not continue the row
// before it.
type JournalError struct {
	// At is the id of the row.
	At TransitionID
	// Unreadable is true if an attribute of the row is missing or of another type.
	// Otherwise the row breaks the chain, and the error is an ErrJournalBroken.
	Unreadable bool
	// What describes the fault in words.
	What string
}

func (e *JournalError) Error() string {
	if e.Unreadable {
		return fmt.Sprintf("journal row %d: %s", e.At, e.What)
	}

	return fmt.Sprintf("%v at transition %d: %s", ErrJournalBroken, e.At, e.What)
}

// Is reports whether target is ErrJournalBroken and the row could be read.
func (e *JournalError) Is(target error) bool { return target == ErrJournalBroken && !e.Unreadable }

// Rebuild adds the rows, oldest first, to the facts. From zero Facts and all rows of a
// journal it computes the facts of the order, without the order and the definition. If a row
// does not continue the chain, it returns a [*JournalError], and f holds the facts up to
// that row. It returns an error of the sequence unchanged.
func (f *Facts) Rebuild(rows iter.Seq2[Row, error]) error {
	for row, err := range rows {
		if err != nil {
			return err
		}

		if err := f.Add(row); err != nil {
			return err
		}
	}

	return nil
}

// Add adds one row to the facts. It returns a [*JournalError] if the row does not name the
// id and the state that f ends with.
func (f *Facts) Add(row Row) error {
	switch {
	case !row.Follows(f.TransitionID):
		return &JournalError{At: row.ID, What: fmt.Sprintf("it follows transition %d, but the row before it is %d", row.PreviousID, f.TransitionID)}
	case row.ID <= f.TransitionID:
		return &JournalError{At: row.ID, What: fmt.Sprintf("it comes after transition %d", f.TransitionID)}
	case f.TransitionID != 0 && row.From != f.State && !row.lost:
		return &JournalError{At: row.ID, What: fmt.Sprintf("it leaves %s, but the order was %s", row.From, f.State)}
	}

	switch {
	case row.lost:
		f.enteredAt = time.Time{} // a lost transition may have entered the state
	case row.From != row.To:
		f.enteredAt = row.At
	}
	f.State, f.PreviousState, f.TransitionID = row.To, row.From, row.ID
	f.DefinitionVersion, f.At = row.DefinitionVersion, row.At

	// A lost row is no transition, so it takes no slot.
	if !row.lost {
		f.ring[row.ID%ringSize] = row.Transition
	}

	return nil
}

// RingDifferences compares the ring of the order with the ring that its journal proves. For
// each slot that differs it yields the id of the transition and the difference in words.
func (f Facts) RingDifferences(o *Order) iter.Seq2[TransitionID, string] {
	return func(yield func(TransitionID, string) bool) {
		for i, want := range f.ring {
			have := o.ring[i]
			have.call, want.call = "", "" // the journal holds no call ids
			have.Cause, want.Cause = have.Cause.brief(), want.Cause.brief()
			// An erasure ends in the one before it comes to the other.
			if have.own == erasedOwn || want.own == erasedOwn {
				have.own, want.own = erasedOwn, erasedOwn
			}

			id, difference := have.ID, ""
			switch {
			case have.ID == 0 && want.ID != 0:
				id, difference = want.ID, fmt.Sprintf("slot s%d is empty, the journal has transition %d", i, want.ID)
			case have.ID != want.ID:
				difference = fmt.Sprintf("slot s%d holds transition %d, the journal has %d", i, have.ID, want.ID)
			case have != want:
				difference = fmt.Sprintf("slot s%d holds transition %d with other content than the journal", i, have.ID)
			}

			if difference != "" && !yield(id, difference) {
				return
			}
		}
	}
}

// Rows returns the rows of the journal of the order, as it was read, with an id above after, oldest
// first. Rows of other orders that had the same id are not among them. It
// reads them page by page as the caller iterates. An error ends the sequence; without a
// journal table it is the only element.
func (o *Orders) Rows(ctx context.Context, order *Order, after TransitionID) iter.Seq2[Row, error] {
	return o.rows(ctx, order.ID, after, func() (life, bool, error) { return order.life(), true, nil })
}

// RowsOf is Rows of the order with the id as it is now, or, if it is gone, of the newest order that had
// the id.
func (o *Orders) RowsOf(ctx context.Context, id OrderID, after TransitionID) iter.Seq2[Row, error] {
	return o.rows(ctx, id, after, func() (life, bool, error) { return o.lifeOf(ctx, id) })
}

func (o *Orders) rows(ctx context.Context, id OrderID, after TransitionID, of func() (life, bool, error)) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if o.cfg.JournalTable == "" {
			yield(Row{}, fmt.Errorf("journal of order %s: no journal table is configured", id))
			return
		}

		l, found, err := of()
		if err == nil && found {
			err = o.journal(ctx, l, after+1, 0, func(r Row) bool { return yield(r, nil) })
		}

		if err != nil {
			yield(Row{}, fmt.Errorf("journal of order %s: %w", id, err))
		}
	}
}

// Since returns the transitions with an id above last that the order's ring holds, as
// rows, and whether these are all transitions above last. The ring holds no versions:
// only the order's newest transition has one.
func (o *Order) Since(last TransitionID) (rows []Row, complete bool) {
	newest := last
	for _, t := range o.Recent() {
		// An id above the order's can only be in an item that another program has changed.
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
