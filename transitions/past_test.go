package transitions_test

import (
	"errors"
	"slices"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// ids returns the ids of transitions.
func ids(made []transitions.Transition) (out []transitions.TransitionID) {
	for _, t := range made {
		out = append(out, t.ID)
	}

	return out
}

func (s *orders) madeBy(t testing.TB, id transitions.OrderID, event workflow.Event) ([]transitions.Transition, error) {
	t.Helper()

	order, found, err := s.Get(t.Context(), id)
	if err != nil || !found {
		t.Fatalf("get %s: found %v, %v", id, found, err)
	}

	return s.TransitionsBy(t.Context(), order, event)
}

func TestTheOldTransitionsOfAnEventAreFound(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		wantIDs := func(when string, event workflow.Event, want ...transitions.TransitionID) {
			t.Helper()

			made, err := s.madeBy(t, "o-1", event)
			if err != nil || !slices.Equal(ids(made), want) {
				t.Errorf("%s: %s by %v, %v, want %v", when, event, ids(made), err, want)
			}

			for _, m := range made {
				if m.Event != event || m.To == "" || m.At.IsZero() {
					t.Errorf("%s: %+v", when, m)
				}
			}
		}
		id := placeID
		var rows []func()
		apply := func(event workflow.Event) {
			t.Helper()
			old := s.Item(t, "o-1")
			id++
			s.want(t, given("o-1", event, id), transitions.Applied)
			now := s.Item(t, "o-1")
			rows = append(rows, func() { shop.Record(t, s.Orders, old, now) })
		}

		s.place(t, "o-1")
		placed := s.Item(t, "o-1")
		rows = append(rows, func() { shop.Record(t, s.Orders, nil, placed) })
		wantIDs("placed", workflow.Pay)
		apply(workflow.Pay)
		s.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "Query")) // the ring knows everything
		wantIDs("paid", workflow.Pay, 2)
		s.Wire.Clear()

		for range 5 {
			apply(workflow.Hold)
			apply(workflow.Release)
		}

		if s.mode == transitions.JournalByStream {
			for i, record := range rows {
				if i > int(id)-ringSize-1 { // the journal may have more than the ring has forgotten
					break
				}

				if _, err := s.madeBy(t, "o-1", workflow.Pay); !errors.Is(err, transitions.ErrJournalBehind) || !transitions.Retryable(err) {
					t.Errorf("with %d rows: %v, want ErrJournalBehind", i, err)
				}
				record()
			}
		}
		wantIDs("after ten more", workflow.Pay, 2)
		wantIDs("after ten more", workflow.Release, 4, 6, 8, 10, 12)
		wantIDs("after ten more", workflow.Cancel)

		s.reconfigure(func(c *transitions.Config) { c.JournalTable = "" })

		if _, err := s.madeBy(t, "o-1", workflow.Pay); !errors.Is(err, transitions.ErrEvidenceGone) {
			t.Errorf("without a journal: %v, want ErrEvidenceGone", err)
		}
	})
}

// TestOnlyTheRowsThatTheRingHasForgottenAreNeeded: what is missing behind them is in the ring.
func TestOnlyTheRowsThatTheRingHasForgottenAreNeeded(t *testing.T) {
	s := newOrders(t)
	images := s.moved(t) // to transition 14; the ring holds 7 to 14

	for _, id := range []int{1, 2, 3, 4, 5, 6, 8} {
		shop.Record(t, s.Orders, images[id-1], images[id])
	}

	for event, want := range map[workflow.Event][]transitions.TransitionID{workflow.Pay: {2}, workflow.Hold: {3, 5, 7, 9, 11, 13}} {
		if made, err := s.madeBy(t, "o-1", event); err != nil || !slices.Equal(ids(made), want) {
			t.Errorf("%s by %v, %v, want %v", event, ids(made), err, want)
		}
	}
}
