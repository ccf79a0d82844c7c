package transitions_test

import (
	"errors"
	"testing"

	"ratchet/once/txn"
	"ratchet/transitions"
	"ratchet/workflow"
)

// life returns the order's present life.
func (s *orders) life(t testing.TB, id transitions.OrderID) transitions.Incarnation {
	t.Helper()

	order, found, err := s.Get(t.Context(), id)
	if err != nil || !found {
		t.Fatal(found, err)
	}

	return order.Incarnation
}

// renew gives the order another life.
func (s *orders) renew(t testing.TB, id transitions.OrderID) {
	t.Helper()

	order, _, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}

	if renewed, err := s.Renew(t.Context(), order); err != nil || !renewed {
		t.Fatal(renewed, err)
	}
}

// changesOfLife are the ways in which an order comes to another life.
func changesOfLife(t testing.TB, s *orders) map[string]func() {
	return map[string]func(){
		"renewed": func() { s.renew(t, "o-1") },
		"placed again": func() {
			s.remove(t, "o-1")
			s.place(t, "o-1")
		},
	}
}

// TestARequestMovesOnlyTheLifeThatItsCallerHasSeen: the order comes to another life before the request is
// sent, or between the request's read and its write. No transition, edit or parcel is taken.
func TestARequestMovesOnlyTheLifeThatItsCallerHasSeen(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		for name := range changesOfLife(t, nil) {
			requests := map[string]func(*orders, transitions.Incarnation) (transitions.Result, error){
				"given": func(s *orders, life transitions.Incarnation) (transitions.Result, error) {
					return s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2, Incarnation: life})
				},
				"keyed": func(s *orders, life transitions.Incarnation) (transitions.Result, error) {
					return s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, RequestID: "r", Incarnation: life})
				},
				"if unedited": func(s *orders, life transitions.Incarnation) (transitions.Result, error) {
					return s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, RequestID: "r", IfContent: new(int64), Incarnation: life})
				},
				"edit": func(s *orders, life transitions.Incarnation) (transitions.Result, error) {
					return s.AddNote(t.Context(), transitions.Edit{OrderID: "o-1", EventID: "e", Incarnation: life}, transitions.Note{Text: "hello"})
				},
				"parcel": func(s *orders, life transitions.Incarnation) (transitions.Result, error) {
					return s.ShipParcel(t.Context(), transitions.Parcel{OrderID: "o-1", ID: "p", Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 1}}, Incarnation: life})
				},
			}

			for kind, request := range requests {
				for _, late := range []bool{false, true} {
					s := newOrders(t)
					paid := func() {
						if kind == "parcel" { // which leaves a paid order only
							s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
						}
					}
					s.place(t, "o-1")
					paid()

					seen, _, err := s.Get(t.Context(), "o-1")
					if err != nil {
						t.Fatal(err)
					}
					life, change := seen.Incarnation, func() {
						changesOfLife(t, s)[name]()

						if name == "placed again" {
							paid()
						}
					}

					if late {
						s.beforeMoves(1, change)
					} else {
						change()
					}

					result, err := request(s, life)
					if err != nil || result.Verdict != transitions.Superseded || result.Order.Incarnation == life || result.Order.TransitionID != seen.TransitionID || result.Order.ContentVersion != 0 {
						t.Errorf("%s, %s, late %t: %+v, %v", kind, name, late, result, err)
					}
					s.Wire.Before(nil)

					if result, err := request(s, s.life(t, "o-1")); err != nil || result.Verdict != transitions.Applied {
						t.Errorf("%s, %s, in the new life: %+v, %v", kind, name, result, err)
					}
				}
			}
		}
	})
}

// TestEvidenceIsOfTheLifeThatTheCallerHasSeen: an order that goes on from that life has made the transition.
// Another order under the id, which has made one that looks the same, has not.
func TestEvidenceIsOfTheLifeThatTheCallerHasSeen(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		request := given("o-1", workflow.Pay, 2)
		request.Incarnation = s.life(t, "o-1")
		s.want(t, request, transitions.Applied)

		s.renew(t, "o-1")
		s.want(t, request, transitions.Replayed)

		s.remove(t, "o-1")
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

		if result := s.want(t, request, transitions.Superseded); result.Reason == "" {
			t.Error("the answer does not say that it knows nothing of the life before")
		}
	})
}

// TestAnOrderWithoutALifeHasTheLife0 until it is renewed.
func TestAnOrderWithoutALifeHasTheLife0(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.foreign(t, "o-1", workflow.Pending)

		request := given("o-1", workflow.Hold, 1)
		request.Incarnation = s.life(t, "o-1")
		s.want(t, request, transitions.Applied)

		s.renew(t, "o-1")
		later := given("o-1", workflow.Release, 2)
		later.Incarnation = request.Incarnation
		s.want(t, later, transitions.Superseded)
	})

	_, err := newOrders(t).Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2, Incarnation: "x"})
	if !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("a life of another form: %v", err)
	}
}

// TestACheckedOrderIsInTheLifeInWhichItWasRead: a transaction of a caller, and an erasure, hold only for
// that life, although the order is in the same state with the same content.
func TestACheckedOrderIsInTheLifeInWhichItWasRead(t *testing.T) {
	for name := range changesOfLife(t, nil) {
		s := newOrders(t)
		s.place(t, "o-1")

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}
		changesOfLife(t, s)[name]()

		writer, err := txn.New(txn.Config{DynamoDB: s.DB})
		if err != nil {
			t.Fatal(err)
		}

		tx := txn.Transaction{}
		s.Unchanged(order)(&tx)

		if err := writer.Write(t.Context(), &tx); !errors.Is(err, transitions.ErrContended) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
