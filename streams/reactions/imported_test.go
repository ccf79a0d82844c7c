package reactions_test

import (
	"slices"
	"strings"
	"testing"

	"ratchet/internal/dynamo"
	"ratchet/once/inventory"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// importAs imports o-1 in the state and returns the record.
func (s *orderSystem) importAs(t *testing.T, orders *transitions.Orders, state workflow.State) streams.Record {
	t.Helper()

	return s.change(t, func() {
		r, err := orders.Import(t.Context(), transitions.Import{State: state, NewOrder: transitions.NewOrder{
			ID: "o-1", Incarnation: "06h1hnv0clhti",
			Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: total / 2}},
			Total: transitions.Money{Amount: total, Currency: "EUR"},
		}})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r.Verdict, err)
		}
	})
}

// asked reports whether the bank has an operation.
func (s *orderSystem) asked(t *testing.T) (asked bool) {
	t.Helper()

	if err := s.bank.Report(t.Context(), func(string, string, int64, string) error { asked = true; return nil }); err != nil {
		t.Fatal(err)
	}

	return asked
}

// TestAnImportIsNoReaction: in every state the journal alone follows. Nothing is booked, reserved, charged, refunded or
// notified, and the record stands for no wait.
func TestAnImportIsNoReaction(t *testing.T) {
	for _, state := range workflow.Order().States() {
		s := newOrderSystem(t)
		orders, handlers := s.at(t, 1, func(c *reactions.Config) { c.RefundReturns = true })

		if err := s.stock.Set(t.Context(), "mug", 10); err != nil {
			t.Fatal(err)
		}
		record := s.importAs(t, orders, state.State)

		for _, late := range []bool{false, true} {
			record.Late = late
			for _, h := range handlers {
				handle(t, h, record)
			}
		}

		if got := s.reactions(); !slices.Equal(slices.Compact(got), []string{reactions.JournalHandler}) {
			t.Errorf("%s: %v have reacted", state.State, got)
		}

		if len(s.notices) > 0 || len(s.booked(t)) > 0 || s.asked(t) {
			t.Errorf("%s: %d notices, booked %q, the bank was asked: %t", state.State, len(s.notices), s.booked(t), s.asked(t))
		}

		if l, _, err := s.stock.Level(t.Context(), "mug"); err != nil || (l != inventory.Level{SKU: "mug", Available: 10}) {
			t.Errorf("%s: %+v, %v", state.State, l, err)
		}

		if rows, err := orders.History(t.Context(), "o-1", 0, 0); err != nil || len(rows) != 1 || rows[0].Event != workflow.Imported {
			t.Errorf("%s: journal %+v, %v", state.State, rows, err)
		}
	}
}

// TestAnImportedOrderIsHeldWithoutItsShipment: another program has booked it, so no carrier is asked, and nothing
// becomes a dead letter.
func TestAnImportedOrderIsHeldWithoutItsShipment(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	handle(t, handlers[reactions.ShippingHandler], s.importAs(t, orders, workflow.PaymentReceived))

	for _, event := range []workflow.Event{workflow.Hold, workflow.Release} {
		handle(t, handlers[reactions.ShippingHandler], s.move(t, orders, event))
	}

	if got := s.booked(t); len(got) > 0 {
		t.Errorf("booked %q", got)
	}

	// One that is paid here has its shipment here.
	s = newOrderSystem(t)
	orders, handlers = s.at(t, 1)
	s.importAs(t, orders, workflow.Pending)
	handle(t, handlers[reactions.ShippingHandler], s.move(t, orders, workflow.Pay))

	if got := s.booked(t); len(got) != 1 {
		t.Errorf("booked %q", got)
	}
}

// TestAWaitLearnsOfAnOrderThatIsBroughtIn: an execution waits for a state, and another program moves the order there. The
// move is counted, and the execution goes on when the order is brought in.
func TestAWaitLearnsOfAnOrderThatIsBroughtIn(t *testing.T) {
	s := newOrderSystem(t)

	var moved []transitions.OrderID
	orders, handlers := s.at(t, 1, func(c *reactions.Config) {
		c.Events.MovedByOther = func(id transitions.OrderID) { moved = append(moved, id) }
	})
	placeAndPay(t, orders)

	execution := s.wait(t, workflow.Shipped, 2)
	s.untilParked(t)

	aside := s.change(t, func() {
		u := dynamo.NewUpdate(shop.OrdersTable, dynamo.Item{"orderId": dynamo.S("o-1")}).SetValue("orderState", dynamo.S(string(workflow.Shipped)))
		if _, err := s.DB.UpdateItem(t.Context(), u.Input()); err != nil {
			t.Fatal(err)
		}
	})
	aside.Remember() // as the poller does

	for _, h := range handlers {
		handle(t, h, aside)
	}

	if !slices.Equal(moved, []transitions.OrderID{"o-1"}) || len(s.reactions()) > 0 {
		t.Errorf("moved %v, reacted %v", moved, s.reactions())
	}

	read, _, err := orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	in := s.change(t, func() {
		if r, err := orders.Adopt(t.Context(), read, transitions.Cause{}); err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r.Verdict, err)
		}
	})
	for _, h := range handlers {
		handle(t, h, in)
	}

	if got := s.reactions(); !slices.Equal(got, []string{reactions.JournalHandler, reactions.ParkedHandler}) {
		t.Errorf("reacted %v", got)
	}

	if got := s.ended(t, execution); !strings.HasPrefix(got, "SUCCEEDED") || !strings.Contains(got, `"transitionId":3`) {
		t.Errorf("the execution ended %s", got)
	}

	if len(s.booked(t)) > 0 || len(s.notices) > 0 {
		t.Errorf("booked %q, %d notices", s.booked(t), len(s.notices))
	}
}
