package transitions_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAnOrderIsRebuiltFromItsJournal moves orders at random and compares the facts of
// their journals with their items.
func TestAnOrderIsRebuiltFromItsJournal(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := transitions.OrderID(fmt.Sprintf("o-%d", n))
		s.place(t, id)

		last := placeID
		for range rapid.IntRange(0, 20).Draw(rt, "events") {
			last += transitions.TransitionID(rapid.IntRange(1, 4).Draw(rt, "gap"))
			event := rapid.SampledFrom(workflow.Order().Events()).Draw(rt, "event")
			if _, err := s.Apply(t.Context(), given(id, event, last)); err != nil {
				rt.Fatal(err)
			}
		}

		order, _, err := s.Get(t.Context(), id)
		if err != nil {
			rt.Fatal(err)
		}

		var facts transitions.Facts
		err = facts.Rebuild(s.RowsOf(t.Context(), id, 0))
		if err != nil || facts.State != order.State || facts.PreviousState != order.PreviousState || facts.TransitionID != order.TransitionID || facts.DefinitionVersion != 1 {
			rt.Fatalf("rebuilt %+v, error %v, the order is %+v", facts, err, order)
		}

		if diff := cmp.Diff(order.Recent(), facts.Recent(), cmpopts.IgnoreUnexported(transitions.Transition{})); diff != "" {
			rt.Fatalf("ring (-order +journal):\n%s", diff)
		}
	})
}

func TestABrokenJournalIsNotRebuilt(t *testing.T) {
	row := func(id, previous transitions.TransitionID, from, to workflow.State) transitions.Row {
		return transitions.Row{Transition: transitions.Transition{ID: id, From: from, To: to}, PreviousID: previous}
	}
	first := row(1, 0, "", workflow.Pending)
	for name, rows := range map[string][]transitions.Row{
		"the first row is missing":    {row(2, 1, workflow.Pending, workflow.OnHold)},
		"a row in between is missing": {first, row(3, 2, workflow.OnHold, workflow.Pending)},
		"the states do not meet":      {first, row(2, 1, workflow.OnHold, workflow.Pending)},
		"the ids do not grow":         {first, row(1, 1, workflow.Pending, workflow.OnHold)},
	} {
		err := new(transitions.Facts).Rebuild(func(yield func(transitions.Row, error) bool) {
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
		})
		var chain *transitions.JournalError
		if !errors.Is(err, transitions.ErrJournalBroken) || !errors.As(err, &chain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
