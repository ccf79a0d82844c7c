package transitions_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

func limitOf(t *testing.T, err error) string {
	t.Helper()

	var limit *transitions.LimitError
	if !errors.As(err, &limit) || !errors.Is(err, transitions.ErrOrderFull) {
		t.Errorf("%v is no limit", err)
		return ""
	}

	return limit.What
}

// What exceeds a limit of the content is a LimitError, and changes nothing.
func TestTheContentHasLimits(t *testing.T) {
	s := newShop(t)
	mugs := slices.Repeat([]transitions.Item{{SKU: "mug", Quantity: 1, Price: 1}}, 21)

	if _, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: mugs, Total: transitions.Money{Amount: 21, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	_, err := s.RemoveItem(t.Context(), edit("o-1", "e-1"), "mug")
	if what := limitOf(t, err); !strings.Contains(what, "removed at once") {
		t.Errorf("21 lines: %q", what)
	}

	// Each line is at its bound, and both together are beyond that of the total.
	dear := transitions.Item{SKU: "ring", Quantity: 1_000_000, Price: 1_000_000_000}

	_, err = s.AddItems(t.Context(), edit("o-1", "e-2"), dear, dear)
	if what := limitOf(t, err); what != "total.amount" {
		t.Errorf("too much money: %q", what)
	}

	if o, _, err := s.Get(t.Context(), "o-1"); err != nil || len(o.Items) != 21 || o.ContentVersion != 0 {
		t.Errorf("%d lines, version %d, %v", len(o.Items), o.ContentVersion, err)
	}

	shipped := transitions.Item{SKU: "cup", Quantity: 2, Price: 1, Shipped: 1}
	if _, err := s.AddItems(t.Context(), edit("o-1", "e-3"), shipped); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "shipped") {
		t.Error(err)
	}
}

// A total falls to 0 at most, and lines may be removed until then.
func TestTheTotalFallsToZero(t *testing.T) {
	s := newShop(t)
	if _, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 5}}, Total: transitions.Money{Amount: 10, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	if r, err := s.RemoveItem(t.Context(), edit("o-1", "e-1"), "mug"); err != nil || r.Verdict != transitions.Applied || r.Order.Total.Amount != 0 {
		t.Errorf("%+v, %v", r, err)
	}

	most := transitions.Item{SKU: "ring", Quantity: 1_000_000, Price: 1_000_000_000}
	if r, err := s.AddItems(t.Context(), edit("o-1", "e-2"), most); err != nil || r.Order.Total.Amount != 1_000_000_000_000_000 {
		t.Errorf("the largest total: %+v, %v", r, err)
	}
}

func TestOrderIDsHaveABound(t *testing.T) {
	for length, valid := range map[int]bool{0: false, 1: true, 128: true, 129: false} {
		if err := transitions.OrderID(strings.Repeat("o", length)).Validate(); valid != (err == nil) {
			t.Errorf("%d characters: %v", length, err)
		}
	}
}

// An order has reached its state, and those that it entered after the id that is given.
func TestAnOrderHasReachedItsNewestStates(t *testing.T) {
	s := newShop(t)
	n := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}

	if _, err := s.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	var o *transitions.Order
	for i, event := range []workflow.Event{workflow.Hold, workflow.Release, workflow.Pay} {
		r, err := s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: event, TransitionID: transitions.TransitionID(i + 2)})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r.Verdict, err)
		}
		o = r.Order
	}

	for _, row := range []struct {
		state workflow.State
		since transitions.TransitionID
		want  bool
	}{
		{workflow.PaymentReceived, 4, true}, // it is there
		{workflow.OnHold, 0, true},
		{workflow.OnHold, 1, true},
		{workflow.OnHold, 2, false},
		{workflow.Pending, 2, true}, // released by 3
		{workflow.Pending, 3, false},
		{workflow.Shipped, 0, false},
	} {
		if got := o.Reached(row.state, row.since); got != row.want {
			t.Errorf("%s since %d: %v", row.state, row.since, got)
		}
	}
}
