package transitions_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"ratchet/transitions"
	"ratchet/workflow"
)

// seenRequest returns a request without an id, by a caller who has read the order.
func seenRequest(order *transitions.Order, event workflow.Event, id string) transitions.Request {
	return transitions.Request{OrderID: order.ID, Event: event, RequestID: transitions.RequestID(id), Incarnation: order.Incarnation, Seen: order}
}

func TestAnOrderThatTheCallerHasSeenIsNotReadAgain(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		order := s.read(t, "o-1")

		reads := s.Wire.Count("GetItem")
		paid := s.want(t, seenRequest(order, workflow.Pay, "pay"), transitions.Applied)
		shipped := s.want(t, seenRequest(paid.Order, workflow.Ship, "ship"), transitions.Applied)
		s.want(t, seenRequest(shipped.Order, workflow.Ship, "ship"), transitions.Replayed)

		if n := s.Wire.Count("GetItem") - reads; n != 0 {
			t.Errorf("%d reads", n)
		}
	})
}

// TestAnOutdatedOrderMovesNoOtherLife, and one without its life is read again.
func TestAnOutdatedOrderMovesNoOtherLife(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		for name := range changesOfLife(t, nil) {
			s := newOrders(t)
			s.place(t, "o-1")
			seen := s.read(t, "o-1")
			changesOfLife(t, s)[name]()

			result := s.want(t, seenRequest(seen, workflow.Pay, "pay"), transitions.Superseded)
			if result.Order.State != workflow.Pending || s.read(t, "o-1").State != workflow.Pending {
				t.Errorf("%s: %+v", name, result)
			}

			lifeless := seenRequest(seen, workflow.Pay, "pay")
			lifeless.Incarnation = ""
			s.want(t, lifeless, transitions.Applied)
		}
	})
}

func TestSeenIsTheOrderOfTheRequest(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	r := seenRequest(s.read(t, "o-1"), workflow.Pay, "pay")
	r.OrderID = "o-2"

	if _, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Error(err)
	}
}

// TestAnOutdatedOrderChangesNoAnswer: two orders get the same requests. The callers of one of them pass on
// the order as it was after some earlier request, the others pass on nothing.
func TestAnOutdatedOrderChangesNoAnswer(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		cases := 0

		rapid.Check(t, func(rt *rapid.T) {
			cases++
			read, blind := transitions.OrderID(fmt.Sprintf("read-%d", cases)), transitions.OrderID(fmt.Sprintf("blind-%d", cases))
			s.place(t, read)
			s.place(t, blind)
			known := []*transitions.Order{s.read(t, read)}

			events := []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver, workflow.Hold, workflow.Release, workflow.RequestReturn, workflow.RejectReturn, workflow.Cancel}
			for range rapid.IntRange(1, 14).Draw(rt, "requests") {
				r := seenRequest(rapid.SampledFrom(known).Draw(rt, "seen"), rapid.SampledFrom(events).Draw(rt, "event"),
					fmt.Sprint(rapid.IntRange(1, 5).Draw(rt, "key")))

				switch rapid.IntRange(0, 3).Draw(rt, "id") {
				case 0:
					r.TransitionID = r.Seen.TransitionID + 1
				case 1:
					r.IfMatch = &r.Seen.TransitionID
				}

				other := r
				other.OrderID, other.Seen, other.Incarnation = blind, nil, ""

				got, err := s.Apply(t.Context(), r)
				want, otherErr := s.Apply(t.Context(), other)

				if (err == nil) != (otherErr == nil) || got.Verdict != want.Verdict || got.Transition.ID != want.Transition.ID || got.Reason != want.Reason {
					rt.Fatalf("%+v: %+v, %v, want %+v, %v", r, got, err, want, otherErr)
				}

				if err != nil {
					continue
				}

				// A repeat shows the order as its caller has seen it, which has made the transition.
				if got.Verdict == transitions.Replayed && got.Order == r.Seen {
					continue
				}

				if got.Order.State != want.Order.State || got.Order.TransitionID != want.Order.TransitionID {
					rt.Fatalf("%+v: %s at %d, want %s at %d", r, got.Order.State, got.Order.TransitionID, want.Order.State, want.Order.TransitionID)
				}
				known = append(known, got.Order)
			}
		})
	})
}
