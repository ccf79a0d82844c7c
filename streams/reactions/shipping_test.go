package reactions_test

import (
	"slices"
	"testing"
	"time"

	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAnOldRecordAsksForTheOrderAsItIsNow hands the record of a payment to the shipping
// handler after the order has moved on, as a redrive, a replay or a lag does.
func TestAnOldRecordAsksForTheOrderAsItIsNow(t *testing.T) {
	for _, test := range []struct {
		name string
		// events happen after the payment and before the handler is called.
		events []workflow.Event
		booked bool
	}{
		{"it is paid", nil, true},
		{"it is canceled", []workflow.Event{workflow.Cancel}, false},
		{"it is held", []workflow.Event{workflow.Hold}, false},
		{"it was held", []workflow.Event{workflow.Hold, workflow.Release}, true},
		{"the bank took the money back", []workflow.Event{workflow.Chargeback}, false},
		{"some parcels have left", []workflow.Event{workflow.ShipPart}, true},
		{"it was shipped otherwise", []workflow.Event{workflow.Ship}, false},
		{"it was shipped and delivered otherwise", []workflow.Event{workflow.Ship, workflow.Deliver}, false},
	} {
		for how, old := range map[string]func(*streams.Record, *reactions.Config){
			"a later attempt": func(r *streams.Record, _ *reactions.Config) { r.Attempt = 2 },
			"the poller says": func(r *streams.Record, _ *reactions.Config) { r.Late = true },
			"a lag":           func(_ *streams.Record, c *reactions.Config) { c.FreshFor = time.Nanosecond },
		} {
			s := newShop(t)
			orders, _ := s.at(t, 1)
			place(t, orders)
			record := s.move(t, orders, workflow.Pay)

			for _, event := range test.events {
				s.move(t, orders, event)
			}

			_, handlers := s.at(t, 1, func(c *reactions.Config) { old(&record, c) })
			for range 2 {
				handle(t, handlers[reactions.ShippingHandler], record)
			}

			var want []string
			if test.booked {
				want = []string{"o-1/2/shipping"}
			}

			if got := s.booked(t); !slices.Equal(got, want) {
				t.Errorf("%s, %s: booked %q, want %q", test.name, how, got, want)
			}
		}
	}
}

// TestAFreshRecordIsNotChecked: the usual booking costs no read of the order.
func TestAFreshRecordIsNotChecked(t *testing.T) {
	s := newShop(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	record := s.payByExecution(t, orders)
	s.transport.Reset()
	handle(t, handlers[reactions.ShippingHandler], record)

	if n := s.transport.Count("GetItem"); n != 1 { // of the claim
		t.Errorf("%d reads, want that of the claim", n)
	}

	if got := s.booked(t); !slices.Equal(got, []string{"o-1/2/shipping"}) {
		t.Errorf("booked %q", got)
	}
}

// TestAReleaseBooksWhatWasNotBooked: the payment's record met a held order, or was a dead
// letter.
func TestAReleaseBooksWhatWasNotBooked(t *testing.T) {
	s := newShop(t)
	orders, handlers := s.at(t, 1)
	handle(t, handlers[reactions.JournalHandler], s.change(t, func() { place(t, orders) }))
	paid := s.move(t, orders, workflow.Pay)
	handle(t, handlers[reactions.JournalHandler], paid)

	for range 6 { // the ring forgets the payment
		handle(t, handlers[reactions.JournalHandler], s.move(t, orders, workflow.Hold))
		release := s.move(t, orders, workflow.Release)
		handle(t, handlers[reactions.JournalHandler], release)
		handle(t, handlers[reactions.ShippingHandler], release)
	}
	paid.Attempt = 9
	handle(t, handlers[reactions.ShippingHandler], paid)

	if got := s.booked(t); !slices.Equal(got, []string{"o-1/2/shipping"}) {
		t.Errorf("booked %q", got)
	}
}

// TestACanceledShipmentIsNotBookedByALateRelease: the order was released, and canceled after
// that.
func TestACanceledShipmentIsNotBookedByALateRelease(t *testing.T) {
	s := newShop(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	s.move(t, orders, workflow.Pay)
	s.move(t, orders, workflow.Hold)
	release := s.move(t, orders, workflow.Release)
	s.move(t, orders, workflow.Cancel)

	if left, err := s.booker.Cancel(t.Context(), transitions.OrderID("o-1").EffectKey(2, "shipping")); err != nil || left {
		t.Fatal(left, err)
	}
	handle(t, handlers[reactions.ShippingHandler], release)

	if got := s.booked(t); len(got) > 0 {
		t.Errorf("booked %q", got)
	}
}
