package reactions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// holdingCarrier notes the calls about holds, and answers them as the test says.
type holdingCarrier struct {
	shipping.Carrier

	left  bool
	err   error
	calls []string
}

func (c *holdingCarrier) Hold(_ context.Context, key string, at int64, held bool) (bool, error) {
	what := "end"
	if held {
		what = "hold"
	}
	c.calls = append(c.calls, fmt.Sprintf("%s %s by %d", what, key, at))

	return c.left, c.err
}

// holding gives the system a carrier that holds, and returns it with the handler of shipments.
func (s *orderSystem) holding(t *testing.T) (*holdingCarrier, *transitions.Orders, streams.HandlerFunc) {
	t.Helper()

	carrier := &holdingCarrier{Carrier: s.carrier}

	booker, err := shipping.New(shipping.Config{Claims: s.claims, Carrier: carrier})
	if err != nil {
		t.Fatal(err)
	}
	s.booker = booker
	orders, handlers := s.at(t, 1)

	return carrier, orders, handlers[reactions.ShippingHandler]
}

// TestAHoldAsksTheCarrier once per transition, and its end lets the parcel leave. The answer stays.
func TestAHoldAsksTheCarrier(t *testing.T) {
	for answer, say := range map[shipping.HoldAnswer]holdingCarrier{
		shipping.Held: {}, shipping.HadLeft: {left: true}, shipping.CannotHold: {err: shipping.ErrCannotHold},
	} {
		s := newOrderSystem(t)
		carrier, orders, ship := s.holding(t)
		carrier.left, carrier.err = say.left, say.err

		place(t, orders)
		handle(t, ship, s.move(t, orders, workflow.Pay))
		shipment := key(t, orders, shipping.Effect)
		held := s.move(t, orders, workflow.Hold)
		effect := heldOrder(t, orders).EffectKey(3, shipping.HoldEffect)

		if got, err := s.booker.HoldAnswered(t.Context(), shipment, effect); err != nil || got != "" {
			t.Errorf("%s: before the carrier was asked: %q, %v", answer, got, err)
		}

		for range 2 {
			handle(t, ship, held)
		}

		if got, err := s.booker.HoldAnswered(t.Context(), shipment, effect); err != nil || got != answer {
			t.Errorf("answered %q, %v, want %s", got, err, answer)
		}

		released := s.move(t, orders, workflow.Release)
		handle(t, ship, released)
		handle(t, ship, held) // late: the hold has ended

		if want := []string{"hold " + shipment + " by 3", "end " + shipment + " by 4"}; !slices.Equal(carrier.calls, want) {
			t.Errorf("%s: calls %q, want %q", answer, carrier.calls, want)
		}

		if got := s.booked(t); !slices.Equal(got, []string{shipment}) {
			t.Errorf("booked %q", got)
		}
	}
}

// TestAHoldIsAskedForAgainAfterAnOutage, as a booking is. A refusal is for a person.
func TestAHoldIsAskedForAgainAfterAnOutage(t *testing.T) {
	s := newOrderSystem(t)
	carrier, orders, ship := s.holding(t)
	place(t, orders)
	handle(t, ship, s.move(t, orders, workflow.Pay))
	held := s.move(t, orders, workflow.Hold)

	carrier.err = errors.New("the carrier is down")
	if err := ship(t.Context(), held); err == nil || streams.IsPermanent(err) {
		t.Errorf("in an outage: %v", err)
	}

	carrier.err = shipping.ErrRefused
	if err := ship(t.Context(), held); !streams.IsPermanent(err) {
		t.Errorf("refused: %v", err)
	}

	carrier.err = nil
	handle(t, ship, held)
	effect := heldOrder(t, orders).EffectKey(3, shipping.HoldEffect)

	if got, err := s.booker.HoldAnswered(t.Context(), key(t, orders, shipping.Effect), effect); err != nil || got != shipping.Held {
		t.Errorf("answered %q, %v", got, err)
	}
}

// TestACarrierThatCannotHoldIsNotAsked: the parcel leaves, and the answer says so.
func TestACarrierThatCannotHoldIsNotAsked(t *testing.T) {
	s := newOrderSystem(t)

	booker, err := shipping.New(shipping.Config{Claims: s.claims, Carrier: struct{ shipping.Carrier }{s.carrier}})
	if err != nil {
		t.Fatal(err)
	}
	s.booker = booker
	orders, handlers := s.at(t, 1)
	place(t, orders)

	for _, event := range []workflow.Event{workflow.Pay, workflow.Hold, workflow.Release} {
		handle(t, handlers[reactions.ShippingHandler], s.move(t, orders, event))
	}

	if got, err := s.booker.HoldAnswered(t.Context(), key(t, orders, shipping.Effect), "none"); err != nil || got != shipping.CannotHold {
		t.Errorf("answered %q, %v", got, err)
	}
}

func heldOrder(t *testing.T, orders *transitions.Orders) *transitions.Order {
	t.Helper()

	order, _, err := orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	return order
}
