package transitions_test

import (
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAnOrderKnowsWhoPlacedIt: a repeat by another is Replayed, and returns the order
// with the name of the first.
func TestAnOrderKnowsWhoPlacedIt(t *testing.T) {
	s := newOrders(t)

	n := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}, PlacedBy: "first"}
	if _, err := s.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	n.PlacedBy = "second"

	r, err := s.Create(t.Context(), n)
	if err != nil || r.Verdict != transitions.Replayed || r.Order.PlacedBy != "first" {
		t.Errorf("%s by %q, %v", r.Verdict, r.Order.PlacedBy, err)
	}
}

// TestATransitionKnowsItsRequest: of a request id only a digest is kept.
func TestATransitionKnowsItsRequest(t *testing.T) {
	s := newOrders(t)

	n := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}
	if _, err := s.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	r, err := s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2, RequestID: "mine"})
	if err != nil {
		t.Fatal(err)
	}

	if !r.Transition.IsBy("mine") || r.Transition.IsBy("another's") || (transitions.Transition{}).IsBy("") {
		t.Errorf("by mine %v, by another's %v", r.Transition.IsBy("mine"), r.Transition.IsBy("another's"))
	}
}
