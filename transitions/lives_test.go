package transitions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (s *orders) deleteOrder(t *testing.T) {
	t.Helper()

	_, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: map[string]types.AttributeValue{"orderId": text("o-1")}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnIDThatIsUsedAgainHasAHistoryOfItsOwn, in both modes: after deletion and placing again, the
// journal has the new order's rows beside the old one's, and the effects have other keys.
func TestAnIDThatIsUsedAgainHasAHistoryOfItsOwn(t *testing.T) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		s := newOrdersIn(t, mode)
		live := func(event workflow.Event) *transitions.Order {
			s.place(t, "o-1")
			placed := s.Item(t, "o-1")
			shop.Record(t, s.Orders, nil, placed)
			order := s.want(t, keyed("o-1", event, "r-1"), transitions.Applied).Order
			shop.Record(t, s.Orders, placed, s.Item(t, "o-1"))

			return order
		}
		first := live(workflow.Pay)
		s.deleteOrder(t)

		if h, err := s.History(t.Context(), "o-1", 0, 0); err != nil || len(h) != 2 || h[1].Event != workflow.Pay {
			t.Errorf("%s: the order is gone, its history is %+v, %v", mode, h, err)
		}
		second := live(workflow.Cancel)

		if h, err := s.History(t.Context(), "o-1", 0, 0); err != nil || len(h) != 2 || h[1].Event != workflow.Cancel {
			t.Errorf("%s: the history is %+v, %v", mode, h, err)
		}

		if first.EffectKey(2, "ship") == second.EffectKey(2, "ship") || first.LifeID() == second.LifeID() || transitions.OrderOfLife(second.LifeID()) != "o-1" {
			t.Errorf("%s: both lives have the keys %s and %s", mode, second.EffectKey(2, "ship"), second.LifeID())
		}
	}
}

// The lives of an id are in the order of their names, also if the machine that places the order again is slow and
// has heard nothing.
func TestASlowMachineNamesALaterLife(t *testing.T) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		var service embeddedtest.Clock
		s := newOrdersIn(t, mode)
		s.onAClock(&service, 0)
		s.place(t, "o-1")
		shop.Record(t, s.Orders, nil, s.Item(t, "o-1"))
		first := s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied).Order.Incarnation
		s.deleteOrder(t)
		service.Advance(time.Hour)
		s.onAClock(&service, -9*time.Hour)
		s.place(t, "o-1")
		shop.Record(t, s.Orders, nil, s.Item(t, "o-1"))
		second := s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied).Order.Incarnation

		if second <= first {
			t.Errorf("%s: %s, then %s", mode, first, second)
		}
		s.deleteOrder(t)

		if _, err := s.Restore(t.Context(), "o-1", true); err != nil {
			t.Errorf("%s: %v", mode, err)
		}

		if back, found, err := s.Get(t.Context(), "o-1"); err != nil || !found || back.Incarnation != second {
			t.Errorf("%s: %+v came back, %v", mode, back, err)
		}
	}
}

// A renewed order whose earlier lives cannot be read proves nothing about the requests that they took.
func TestALifeWithoutAReadableNameIsNoProof(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.want(t, keyed("o-1", workflow.Hold, "r-hold"), transitions.Applied)

	for n := range transitions.TransitionID(6) { // the ring forgets the hold
		s.want(t, given("o-1", workflow.Release, 2*n+3), transitions.Applied)
		s.want(t, given("o-1", workflow.Hold, 2*n+4), transitions.Applied)
	}
	released := s.want(t, given("o-1", workflow.Release, 15), transitions.Applied).Order

	if renewed, err := s.Renew(t.Context(), released); err != nil || !renewed {
		t.Fatal(renewed, err)
	}
	s.want(t, keyed("o-1", workflow.Hold, "r-hold"), transitions.Replayed)
	s.put(t, "lives", text("x"))

	if result, err := s.Apply(t.Context(), keyed("o-1", workflow.Hold, "r-hold")); err == nil {
		t.Errorf("got %s", result.Verdict)
	}
}

// TestARenewedOrderGoesOn: an order that was restored to an earlier time and renewed has other keys,
// keeps the answers to what it made until then, and journals what it does now beside the rows of the
// transitions that were lost.
func TestARenewedOrderGoesOn(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.want(t, keyed("o-1", workflow.Hold, "r-hold"), transitions.Applied)
	restored := s.Item(t, "o-1")
	s.want(t, keyed("o-1", workflow.Release, "r-release"), transitions.Applied)
	lost := s.want(t, keyed("o-1", workflow.Pay, "r-pay"), transitions.Applied).Order

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: restored}); err != nil {
		t.Fatal(err)
	}

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if renewed, err := s.Renew(t.Context(), order); err != nil || !renewed {
		t.Fatal(renewed, err)
	}

	if renewed, err := s.Renew(t.Context(), order); err != nil || renewed {
		t.Errorf("renewed twice from one reading: %t, %v", renewed, err)
	}
	s.want(t, keyed("o-1", workflow.Hold, "r-hold"), transitions.Replayed)

	for n := range transitions.TransitionID(6) { // the ring forgets the hold
		s.want(t, given("o-1", workflow.Release, 2*n+3), transitions.Applied)
		s.want(t, given("o-1", workflow.Hold, 2*n+4), transitions.Applied)
	}
	s.want(t, keyed("o-1", workflow.Hold, "r-hold"), transitions.Replayed)
	s.want(t, keyed("o-1", workflow.Release, "r-release"), transitions.Applied) // it was lost
	now := s.want(t, keyed("o-1", workflow.Pay, "r-pay"), transitions.Applied).Order

	if now.LifeID() == lost.LifeID() || now.EffectKey(4, "ship") == lost.EffectKey(4, "ship") {
		t.Errorf("the keys are as before: %s", now.LifeID())
	}

	// What it made until then has the keys of the life before.
	if now.EffectKey(2, "ship") != lost.EffectKey(2, "ship") || now.EffectKey(3, "ship") == lost.EffectKey(3, "ship") ||
		now.PlacedLifeID() != lost.LifeID() || !slices.Equal(now.LifeIDs(), []string{now.LifeID(), lost.LifeID()}) {
		t.Errorf("keys %s, %s, %s, %q", now.EffectKey(2, "ship"), now.EffectKey(3, "ship"), now.PlacedLifeID(), now.LifeIDs())
	}

	h, err := s.History(t.Context(), "o-1", 0, 0)
	if err != nil || len(h) != 16 || h[1].Event != workflow.Hold || h[2].Event != workflow.Release || h[15].Event != workflow.Pay {
		t.Errorf("the history is %+v, %v", h, err)
	}

	// The order is lost, and comes back with its life and its whole history.
	s.deleteOrder(t)

	if r, err := s.Restore(t.Context(), "o-1", true); err != nil || r.Rows != 16 {
		t.Fatalf("%+v, %v", r, err)
	}

	back, _, err := s.Get(t.Context(), "o-1")
	if err != nil || back.LifeID() != now.LifeID() || back.State != workflow.PaymentReceived {
		t.Fatalf("%+v, %v", back, err)
	}

	// However many lives it continues, it keeps the name of the first.
	for n := range transitions.TransitionID(20) {
		if renewed, err := s.Renew(t.Context(), back); err != nil || !renewed {
			t.Fatal(renewed, err)
		}
		back = s.want(t, given("o-1", []workflow.Event{workflow.Hold, workflow.Release}[n%2], 17+n), transitions.Applied).Order
	}

	if back.PlacedLifeID() != lost.LifeID() || len(back.LifeIDs()) != 17 {
		t.Errorf("after 20 lives the first one is %s: %q", back.PlacedLifeID(), back.LifeIDs())
	}
}

// TestALifeNeverSortsBeforeTheOneItContinues: the clock of the machine that renews an order is behind the one
// that has placed it.
func TestALifeNeverSortsBeforeTheOneItContinues(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	before := s.life(t, "o-1")

	for range 3 {
		s.reconfigure(shop.Journal(s.mode), func(c *transitions.Config) {
			c.Now = func() time.Time { return before.Began().Add(-time.Hour) }
		})
		s.renew(t, "o-1")

		after := s.life(t, "o-1")
		if after <= before {
			t.Fatalf("the life %s follows %s", after, before)
		}
		before = after
	}
}
