package reactions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/tests/shop"
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
			s := newOrderSystem(t)
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
				want = []string{key(t, orders, shipping.Effect)}
			}

			if got := s.booked(t); !slices.Equal(got, want) {
				t.Errorf("%s, %s: booked %q, want %q", test.name, how, got, want)
			}
		}
	}
}

// TestABookingIsRecordedAlthoughTheOrderHasShipped: the carrier books and ships before the claim is
// written, which fails. The next attempt meets an order that has moved on. It records an existing
// booking, and books nothing if there is none.
func TestABookingIsRecordedAlthoughTheOrderHasShipped(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	paid := s.move(t, orders, workflow.Pay)
	key := key(t, orders, shipping.Effect)

	outage := s.Wire.Inject(embeddedtest.Throttle("UpdateItem")) // by which claims are written

	if err := handlers[reactions.ShippingHandler](t.Context(), paid); err == nil || outage.Strikes() == 0 {
		t.Fatalf("%v, %d writes failed", err, outage.Strikes())
	}
	s.Wire.Clear()

	if got := s.booked(t); !slices.Equal(got, []string{key}) {
		t.Fatalf("booked %q", got)
	}

	s.move(t, orders, workflow.Ship)
	paid.Attempt = 2
	handle(t, handlers[reactions.ShippingHandler], paid)

	claim, found, err := s.claims.Get(t.Context(), key)
	if err != nil || !found || claim.Status != once.StatusCompleted {
		t.Errorf("the claim of the booking: %+v, %t, %v", claim, found, err)
	}
}

// refusing is a carrier that answers no question about a shipment.
type refusing struct{ *sandbox.Carrier }

func (refusing) Get(context.Context, string) (shipping.Shipment, error) {
	return shipping.Shipment{}, fmt.Errorf("405: %w", shipping.ErrRefused)
}

// TestARefusedQuestionIsNotRepeated: a carrier refuses in every attempt to say what it has booked, which
// must not count as its outage. It is not asked about an order whose claims have expired, as a rebuild
// delivers them.
func TestARefusedQuestionIsNotRepeated(t *testing.T) {
	for _, row := range []struct {
		age   time.Duration
		asked bool
	}{
		{29 * 24 * time.Hour, true},
		{31 * 24 * time.Hour, false},
	} {
		s := newOrderSystem(t)
		_, handlers := s.at(t, 1, func(c *reactions.Config) {
			c.Booker = s.Booker(s.claims, refusing{s.carrier})
		})

		orders := s.Orders(shop.WithoutRequests, func(c *transitions.Config) {
			c.Now = func() time.Time { return time.Now().Add(-row.age) }
		})

		place(t, orders)
		paid := s.move(t, orders, workflow.Pay)
		s.move(t, orders, workflow.Ship)
		paid.Late = true

		err := handlers[reactions.ShippingHandler](t.Context(), paid)
		if asked := err != nil; asked != row.asked || asked && (!errors.Is(err, shipping.ErrRefused) || !streams.IsPermanent(err)) {
			t.Errorf("%s: permanent: %t, %v", row.age, streams.IsPermanent(err), err)
		}
	}
}

// TestAReleaseOfAnEndedOrderNeedsNoPayment: the rows of its payment are lost, so the release has booked
// nothing, and the order has ended since.
func TestAReleaseOfAnEndedOrderNeedsNoPayment(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	s.move(t, orders, workflow.Pay)

	var release streams.Record
	for range 6 { // the ring forgets the payment
		s.move(t, orders, workflow.Hold)
		release = s.move(t, orders, workflow.Release)
	}

	if closed, err := orders.CloseJournal(t.Context(), release.New); err != nil || !closed {
		t.Fatal(closed, err)
	}

	release.Late = true
	if err := handlers[reactions.ShippingHandler](t.Context(), release); !streams.IsPermanent(err) {
		t.Errorf("an order that is to be shipped: %v", err)
	}

	s.move(t, orders, workflow.Cancel)
	handle(t, handlers[reactions.ShippingHandler], release)
}

// TestAFreshRecordIsNotChecked: the usual booking costs no read of the order.
func TestAFreshRecordIsNotChecked(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	record := s.payByExecution(t, orders)
	s.Wire.Reset()
	handle(t, handlers[reactions.ShippingHandler], record)

	if n := s.Wire.Count("GetItem"); n != 1 { // of the claim
		t.Errorf("%d reads, want that of the claim", n)
	}

	if got := s.booked(t); !slices.Equal(got, []string{key(t, orders, shipping.Effect)}) {
		t.Errorf("booked %q", got)
	}
}

// TestAReleaseBooksWhatWasNotBooked: the payment's record met a held order, or was a dead
// letter.
func TestAReleaseBooksWhatWasNotBooked(t *testing.T) {
	s := newOrderSystem(t)
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

	if got := s.booked(t); !slices.Equal(got, []string{key(t, orders, shipping.Effect)}) {
		t.Errorf("after the releases booked %q", got)
	}
	paid.Attempt = 9
	handle(t, handlers[reactions.ShippingHandler], paid)

	if got := s.booked(t); !slices.Equal(got, []string{key(t, orders, shipping.Effect)}) {
		t.Errorf("booked %q", got)
	}
}

// TestACanceledShipmentIsNotBookedByALateRelease: the order was released, and canceled after
// that.
func TestACanceledShipmentIsNotBookedByALateRelease(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	s.move(t, orders, workflow.Pay)
	s.move(t, orders, workflow.Hold)
	release := s.move(t, orders, workflow.Release)
	s.move(t, orders, workflow.Cancel)

	if left, err := s.booker.Cancel(t.Context(), key(t, orders, shipping.Effect)); err != nil || left {
		t.Fatal(left, err)
	}
	handle(t, handlers[reactions.ShippingHandler], release)

	if got := s.booked(t); len(got) > 0 {
		t.Errorf("booked %q", got)
	}
}

// cancels is a carrier that has canceled the shipment itself, for example because it cannot serve the
// address.
type cancels struct{ *sandbox.Carrier }

func (cancels) Book(context.Context, string, string) (string, error) {
	return "", fmt.Errorf("409: %w", shipping.ErrCanceled)
}

// TestACarriersCancellationIsForAPerson if the order is still to be shipped. A redrive asks the carrier
// again.
func TestACarriersCancellationIsForAPerson(t *testing.T) {
	for _, row := range []struct {
		events []workflow.Event
		wanted bool
	}{
		{nil, true},
		{[]workflow.Event{workflow.Hold}, false}, // the release asks again
		{[]workflow.Event{workflow.Cancel}, false},
		{[]workflow.Event{workflow.Ship}, false},
	} {
		s := newOrderSystem(t)
		orders, handlers := s.at(t, 1, func(c *reactions.Config) { c.Booker = s.Booker(s.claims, cancels{s.carrier}) })
		place(t, orders)
		paid := s.move(t, orders, workflow.Pay)

		for _, event := range row.events {
			s.move(t, orders, event)
		}

		err := handlers[reactions.ShippingHandler](t.Context(), paid)
		if (err != nil) != row.wanted || row.wanted && !streams.IsPermanent(err) {
			t.Errorf("after %v: permanent: %t, %v", row.events, streams.IsPermanent(err), err)
		}

		if !row.wanted {
			continue
		}

		for _, way := range []string{"the carrier has canceled", "ratchet shipments book-again o-1", "ratchet orders apply o-1 cancel"} {
			if !strings.Contains(err.Error(), way) {
				t.Errorf("%v does not name %q", err, way)
			}
		}

		_, again := s.at(t, 1)
		paid.Attempt = 2
		handle(t, again[reactions.ShippingHandler], paid)

		if got := s.booked(t); !slices.Equal(got, []string{key(t, orders, shipping.Effect)}) {
			t.Errorf("booked %q", got)
		}
	}
}
