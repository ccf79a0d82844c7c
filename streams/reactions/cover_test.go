package reactions_test

import (
	"errors"
	"ratchet/shipping"
	"slices"
	"testing"

	"ratchet/once/inventory"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// payByExecution pays the order as the step of its execution does.
func (s *orderSystem) payByExecution(t *testing.T, orders *transitions.Orders) streams.Record {
	t.Helper()

	return s.change(t, func() {
		r, err := orders.Apply(t.Context(), transitions.Request{
			OrderID: "o-1", Event: workflow.Pay, TransitionID: 2, RequestID: transitions.PaidRequest,
		})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r.Verdict, err)
		}
	})
}

func (s *orderSystem) wantMugs(t *testing.T, available, reserved, committed int64) {
	t.Helper()

	want := inventory.Level{SKU: "mug", Available: available, Reserved: reserved, Committed: committed}
	if got, _, err := s.stock.Level(t.Context(), "mug"); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// TestNothingIsBookedBeforeItsPiecesAreReserved: another caller has paid the order before its
// execution began. Its shipment waits for the pieces.
func TestNothingIsBookedBeforeItsPiecesAreReserved(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)

	if err := s.stock.Set(t.Context(), "mug", 1); err != nil {
		t.Fatal(err)
	}
	place(t, orders)
	record := s.move(t, orders, workflow.Pay)

	err := handlers[reactions.ShippingHandler](t.Context(), record)
	if !errors.Is(err, inventory.ErrOutOfStock) || streams.IsPermanent(err) || len(s.booked(t)) > 0 {
		t.Errorf("without the pieces: %v, booked %q", err, s.booked(t))
	}
	s.wantMugs(t, 1, 0, 0)

	if err := s.stock.Set(t.Context(), "mug", 5); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		record.Attempt++
		handle(t, handlers[reactions.ShippingHandler], record)
		s.wantMugs(t, 3, 2, 0)
	}

	if got := s.booked(t); !slices.Equal(got, []string{key(t, orders, shipping.Effect)}) {
		t.Errorf("booked %q", got)
	}
	handle(t, handlers[reactions.StockHandler], s.move(t, orders, workflow.Ship))
	s.wantMugs(t, 3, 0, 2)
}

// TestAPaidOrderThatIsCanceledWaitsForNoPieces: the attempt after the cancellation reserves and books
// nothing, also if it began before.
func TestAPaidOrderThatIsCanceledWaitsForNoPieces(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	record := s.move(t, orders, workflow.Pay)
	s.move(t, orders, workflow.Cancel)

	if err := errors.Join(s.stock.Set(t.Context(), "mug", 5), s.stock.Release(t.Context(), life)); err != nil {
		t.Fatal(err)
	}

	if left, err := s.booker.Cancel(t.Context(), key(t, orders, shipping.Effect)); left || err != nil {
		t.Fatal(left, err)
	}

	for range 2 {
		handle(t, handlers[reactions.ShippingHandler], record)
		record.Attempt++
	}
	s.wantMugs(t, 5, 0, 0)

	if got := s.booked(t); len(got) > 0 {
		t.Errorf("booked %q", got)
	}
}

// TestAShopWithoutStockShips: neither of the order's SKUs was ever in the stock, and one could not be.
func TestAShopWithoutStockShips(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)

	if _, err := orders.Create(t.Context(), transitions.NewOrder{
		ID:          "o-1",
		Incarnation: "06h1hnv0clhti",
		Items:       []transitions.Item{{SKU: "download", Quantity: 1}, {SKU: "order#1", Quantity: 1}},
		Total:       transitions.Money{Amount: total, Currency: "EUR"},
	}); err != nil {
		t.Fatal(err)
	}
	handle(t, handlers[reactions.ShippingHandler], s.move(t, orders, workflow.Pay))

	if got := s.booked(t); !slices.Equal(got, []string{key(t, orders, shipping.Effect)}) {
		t.Errorf("booked %q", got)
	}
	handle(t, handlers[reactions.StockHandler], s.move(t, orders, workflow.Ship))
}
