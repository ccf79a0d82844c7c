package transitions

import (
	"context"
	"fmt"
	"slices"

	"ratchet/workflow"
)

// TransitionsBy returns every transition of the order up to now that one of the events made, oldest
// first: for "pay", the transition of its payment. The order is as the caller has read it.
//
// The order itself knows its newest transitions. If its ring has overwritten any, the
// journal is read as well, from its beginning: about one read unit for 40 transitions. While
// the journal lacks a row that the ring no longer has, the error is ErrJournalBehind, which
// is [Retryable]; without a journal table it is ErrEvidenceGone.
func (o *Orders) TransitionsBy(ctx context.Context, order *Order, events ...workflow.Event) ([]Transition, error) {
	var made []Transition
	if forgotten := order.oldestForgotten(); forgotten > 0 {
		err := o.chain(ctx, order, forgotten, func(t Transition) bool {
			if slices.Contains(events, t.Event) {
				made = append(made, t)
			}

			return true
		})
		if err != nil {
			return nil, fmt.Errorf("find transitions by %v of order %s: %w", events, order.ID, err)
		}
	}

	// Transitions that only the ring has are newer than every row, so they go last. The newest
	// rows may be in the ring, too.
	for _, t := range order.Recent() {
		known := func(other Transition) bool { return other.ID == t.ID }
		if slices.Contains(events, t.Event) && !slices.ContainsFunc(made, known) {
			made = append(made, t)
		}
	}

	return made, nil
}

// chain calls fn for the order's transitions in the journal, oldest first, until fn returns
// false or the journal has passed the id. If rows are missing up to there, the error is
// ErrJournalBehind, or ErrEvidenceGone if they are lost for good.
func (o *Orders) chain(ctx context.Context, order *Order, upTo TransitionID, fn func(Transition) bool) error {
	var last TransitionID
	broken, stopped, lost := false, false, false

	err := o.readEvidence(ctx, order, 0, 0, func(row Row) bool {
		lost = lost || row.lost
		if stopped = !row.lost && !fn(row.Transition); stopped {
			return false
		}
		broken = broken || !row.Follows(last)
		last = row.ID

		return last < upTo
	})
	switch {
	// fn has stopped the reading: it has its answer, whether the rest of the chain is whole or not.
	case err != nil || stopped:
	// Missing rows are reported before lost rows, because missing rows may still come.
	case broken || last < upTo:
		err = fmt.Errorf("read the journal: %w", ErrJournalBehind)
	case lost:
		err = fmt.Errorf("rows of the journal are lost: %w", ErrEvidenceGone)
	}

	return err
}
