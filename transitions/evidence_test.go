package transitions_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestEvidenceOlderThanTheRingComesFromTheJournal(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.ToAndFro(t, s.Orders, "o-1", 30, 30)

		result := s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed)
		if result.Transition.To != workflow.PaymentReceived || result.Transition.ID != 2 {
			t.Errorf("a replay must return the same transition: %+v", result.Transition)
		}
		s.want(t, given("o-1", workflow.Cancel, 2), transitions.Conflict)
	})
}

func TestEvidenceIsNotGuessedWhileTheJournalIsBehind(t *testing.T) {
	s := newOrders(t)
	s.forgetRequests()
	s.ToAndFro(t, s.Orders, "o-1", 30, 3)
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed) // the row is there

	_, err := s.Apply(t.Context(), given("o-1", workflow.RequestReturn, 5))
	if !errors.Is(err, transitions.ErrJournalBehind) || !transitions.Retryable(err) {
		t.Errorf("id 5 is in neither ring nor journal: got %v, want ErrJournalBehind", err)
	}

	_, err = s.Apply(t.Context(), keyed("o-1", workflow.RequestReturn, "late"))
	if !errors.Is(err, transitions.ErrJournalBehind) {
		t.Errorf("a missing row may have the request id: got %v, want ErrJournalBehind", err)
	}
}

// TestALostAnswerIsResolvedInsideApply loses the answer of a write that was made. The
// SDK's retry meets the order's new state; the call must be Applied all the same.
func TestALostAnswerIsResolvedInsideApply(t *testing.T) {
	for name, request := range map[string]transitions.Request{
		"id given": given("o-1", workflow.Pay, 2), "id assigned": keyed("o-1", workflow.Pay, "r"),
	} {
		t.Run(name, func(t *testing.T) {
			inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
				s := newOrders(t)
				s.place(t, "o-1")
				lost := s.Wire.Inject(embeddedtest.LoseAnswer(moves...).Next(1))

				result := s.want(t, request, transitions.Applied)
				if lost.Strikes() != 1 || result.Transition.ID != 2 {
					t.Errorf("lost %d answers, transition %+v", lost.Strikes(), result.Transition)
				}
				s.want(t, request, transitions.Replayed)
			})
		})
	}
}

// TestACanceledCallReturnsOutcomeUnknown ends the caller's context after the write
// was made and before its answer arrives.
func TestACanceledCallReturnsOutcomeUnknown(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		ctx, cancel := context.WithCancel(t.Context())
		s.Wire.After(func(c *embeddedtest.Call) error {
			if !c.Is(moves...) {
				return nil
			}
			cancel()

			return context.Canceled
		})

		_, err := s.Apply(ctx, given("o-1", workflow.Pay, 2))
		if !errors.Is(err, transitions.ErrOutcomeUnknown) || !transitions.Retryable(err) {
			t.Fatalf("got %v, want ErrOutcomeUnknown", err)
		}
		s.Wire.Clear()
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed) // the same request tells
	})
}

// TestARequestIDIsRecognizedAfterTheRingHasLostIt repeats a request after each further
// transition: while the ring holds it, when the ring has just lost it, and afterwards.
func TestARequestIDIsRecognizedAfterTheRingHasLostIt(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")

		old := s.Item(t, "o-1")
		if s.mode == transitions.JournalByStream {
			shop.Record(t, s.Orders, nil, old)
		}
		apply := func(r transitions.Request) transitions.Result {
			result := s.want(t, r, transitions.Applied)
			now := s.Item(t, "o-1")
			if s.mode == transitions.JournalByStream {
				shop.Record(t, s.Orders, old, now)
			}
			old = now

			return result
		}
		apply(given("o-1", workflow.Pay, 2))

		first := apply(keyed("o-1", workflow.ShipPart, "k"))
		for id := first.Transition.ID + 1; id < first.Transition.ID+3*ringSize; id++ {
			apply(given("o-1", workflow.ShipPart, id))
			sameTransition(t, s.want(t, keyed("o-1", workflow.ShipPart, "k"), transitions.Replayed).Transition, first.Transition)
			sameTransition(t, s.want(t, transitions.Request{OrderID: "o-1", Event: workflow.ShipPart, RequestID: "k", TransitionID: id + 1}, transitions.Replayed).Transition, first.Transition)
		}
	})
}

// TestAJournalWithAGapProvesNothing leaves out the row that has the answer.
func TestAJournalWithAGapProvesNothing(t *testing.T) {
	s := newOrders(t)
	s.forgetRequests()
	s.place(t, "o-1")
	old := s.Item(t, "o-1")
	shop.Record(t, s.Orders, nil, old)

	for id := transitions.TransitionID(2); id < 20; id++ {
		r := given("o-1", workflow.ShipPart, id)
		switch id {
		case 2:
			r.Event = workflow.Pay
		case 5:
			r.RequestID = "k"
		}
		s.want(t, r, transitions.Applied)

		now := s.Item(t, "o-1")
		if id != 5 {
			shop.Record(t, s.Orders, old, now)
		}
		old = now
	}

	for name, r := range map[string]transitions.Request{
		"id assigned":            keyed("o-1", workflow.ShipPart, "k"),
		"another id":             {OrderID: "o-1", Event: workflow.ShipPart, TransitionID: 20, RequestID: "k"},
		"the same id":            {OrderID: "o-1", Event: workflow.ShipPart, TransitionID: 5, RequestID: "k"},
		"without the request id": given("o-1", workflow.ShipPart, 5),
	} {
		if result, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrJournalBehind) {
			t.Errorf("%s: %s, %v", name, result.Verdict, err)
		}
	}
}

// TestARequestWithoutRequestIDIsNotTheOneThatHadIt: the same content under the same id
// is the same request only for callers that send no request id.
func TestARequestWithoutRequestIDIsNotTheOneThatHadIt(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		named := given("o-1", workflow.Pay, 2)
		named.RequestID = "k"
		s.want(t, named, transitions.Applied)
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Conflict)
		s.want(t, named, transitions.Replayed)
		s.want(t, given("o-1", workflow.ShipPart, 3), transitions.Applied)
		named.Event, named.TransitionID, named.RequestID = workflow.ShipPart, 3, "l"
		s.want(t, named, transitions.Conflict)
	})
}

// TestARowOfTheJournalIsWrittenOnce: a second row with the same id changes nothing, and is an error if it is of
// another transition, as after the order was restored to an earlier time and not renewed.
func TestARowOfTheJournalIsWrittenOnce(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	placed := s.Item(t, "o-1")
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

	change, _, err := transitions.Mapping{}.FromRecord(placed, s.Item(t, "o-1"))
	if err != nil {
		t.Fatal(err)
	}

	record := func(about string, want error, differs func(*transitions.Transition)) {
		other := change
		differs(&other.Transition)

		if err := s.Record(t.Context(), other); !errors.Is(err, want) || transitions.Retryable(err) {
			t.Errorf("%s: %v, want %v", about, err, want)
		}
	}
	record("the first", nil, func(*transitions.Transition) {})
	record("again", nil, func(*transitions.Transition) {})
	record("after an erasure", nil, func(made *transitions.Transition) { made.Cause = transitions.Cause{} })
	record("another event", transitions.ErrJournalAhead, func(made *transitions.Transition) { made.Event = workflow.Cancel })
	record("another state", transitions.ErrJournalAhead, func(made *transitions.Transition) { made.To = workflow.OnHold })
	record("another time", transitions.ErrJournalAhead, func(made *transitions.Transition) { made.At = made.At.Add(time.Millisecond) })

	if rows, err := s.History(t.Context(), "o-1", 0, 0); err != nil || len(rows) != 1 || rows[0].Event != workflow.Pay {
		t.Errorf("rows %+v, error %v", rows, err)
	}
}

// What cannot be written into the journal, or read from it, is an error.
func TestAJournalThatIsMissingOrRefusesIsAnError(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	change, _, err := transitions.Mapping{}.FromRecord(nil, s.Item(t, "o-1"))
	if err != nil {
		t.Fatal(err)
	}
	s.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "PutItem"))

	if err := s.Record(t.Context(), change); err == nil || !strings.Contains(err.Error(), "record transition 1 of order o-1: ") {
		t.Errorf("refused: %v", err)
	}
	s.Wire.Clear()
	s.reconfigure(func(c *transitions.Config) { c.JournalTable = "" })

	if err := s.Record(t.Context(), change); err == nil || !strings.Contains(err.Error(), "no journal table is configured") {
		t.Errorf("recorded without a journal: %v", err)
	}

	if rows, err := s.History(t.Context(), "o-1", 0, 0); err == nil || !strings.Contains(err.Error(), "no journal table is configured") {
		t.Errorf("read without a journal: %v, %v", rows, err)
	}
}
