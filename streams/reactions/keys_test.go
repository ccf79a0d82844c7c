package reactions_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// key is the effect key of a handler about the transition that has paid order o-1.
func key(t *testing.T, orders *transitions.Orders, handler string) string {
	t.Helper()

	order, found, err := orders.Get(t.Context(), "o-1")
	if err != nil || !found {
		t.Fatal(found, err)
	}

	return order.EffectKey(2, handler)
}

// keys returns the keys of the notifications that were sent.
func (s *orderSystem) keys() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, n := range s.notices {
		if !n.Named {
			keys = append(keys, n.Key)
		}
	}

	return keys
}

// TestGroupsHaveNotificationsOfTheirOwn: two applications with the same handlers do not take each
// other's notifications for done. The default group keeps its keys. The order has one shipment.
func TestGroupsHaveNotificationsOfTheirOwn(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	paid := s.move(t, orders, workflow.Pay)

	for _, group := range []string{"", "audit", "", "audit"} {
		paid.Group = group
		handle(t, handlers[reactions.NotifyHandler], paid)
		handle(t, handlers[reactions.ShippingHandler], paid)
	}

	if got, want := s.keys(), []string{key(t, orders, "notify"), key(t, orders, "notify") + "/group-audit"}; !slices.Equal(got, want) {
		t.Errorf("notified %q, want %q", got, want)
	}

	if got, want := s.booked(t), []string{key(t, orders, shipping.Effect)}; !slices.Equal(got, want) {
		t.Errorf("booked %q, want %q", got, want)
	}
}

// TestTheShipmentOfAnyGroupIsCanceled cancels as the compensation of an order does, which knows no
// groups (activities/steps). A group that comes later books nothing.
func TestTheShipmentOfAnyGroupIsCanceled(t *testing.T) {
	for _, group := range []string{"", "audit"} {
		s := newOrderSystem(t)
		orders, handlers := s.at(t, 1)
		place(t, orders)
		paid := s.move(t, orders, workflow.Pay)
		paid.Group = group
		handle(t, handlers[reactions.ShippingHandler], paid)

		if got := s.booked(t); len(got) != 1 {
			t.Fatalf("group %q booked %q", group, got)
		}

		if left, err := s.booker.Cancel(t.Context(), key(t, orders, shipping.Effect)); err != nil || left {
			t.Fatal(left, err)
		}
		paid.Group = "another"
		handle(t, handlers[reactions.ShippingHandler], paid)

		if got := s.booked(t); len(got) > 0 {
			t.Errorf("group %q: %q is still booked", group, got)
		}
	}
}

// TestAReplayRepeatsOnlyNotificationsAndOnlyOnRequest replays the record of a payment.
func TestAReplayRepeatsOnlyNotificationsAndOnlyOnRequest(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	paid := s.move(t, orders, workflow.Pay)

	for _, replay := range []*streams.Replayed{nil, {}, {Again: "a1"}, {Again: "a1"}, {Again: "a2"}} {
		paid.Replay, paid.Late = replay, replay != nil
		handle(t, handlers[reactions.NotifyHandler], paid)
		handle(t, handlers[reactions.ShippingHandler], paid)
	}

	if got, want := s.keys(), []string{key(t, orders, "notify"), key(t, orders, "notify") + "/again-a1", key(t, orders, "notify") + "/again-a2"}; !slices.Equal(got, want) {
		t.Errorf("notified %q, want %q", got, want)
	}

	if got := s.booked(t); !slices.Equal(got, []string{key(t, orders, shipping.Effect)}) {
		t.Errorf("booked %q", got)
	}
}

// An order that was restored to an earlier time, and not renewed, makes an id again. No retry changes that, and
// the journal keeps what it has.
func TestTheJournalKeepsTheFirstTransitionOfAnID(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	placed := s.Item(t, "o-1")
	handle(t, handlers[reactions.JournalHandler], s.move(t, orders, workflow.Pay))

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: placed}); err != nil {
		t.Fatal(err)
	}

	canceled := s.move(t, orders, workflow.Cancel)
	if err := handlers[reactions.JournalHandler](t.Context(), canceled); !streams.IsPermanent(err) || !errors.Is(err, transitions.ErrJournalAhead) {
		t.Errorf("got %v", err)
	}

	if rows, err := orders.History(t.Context(), "o-1", 0, 0); err != nil || len(rows) != 1 || rows[0].Event != workflow.Pay {
		t.Errorf("journal %+v, %v", rows, err)
	}
}

// TestOldRecordsAreJournaledAndNotified: the journal and the notifications always act, however
// old a record is and wherever the order is now.
func TestOldRecordsAreJournaledAndNotified(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	placed := s.change(t, func() { place(t, orders) })
	paid := s.move(t, orders, workflow.Pay)
	s.move(t, orders, workflow.Cancel)
	paid.Late, paid.Attempt = true, 9

	for _, record := range []streams.Record{placed, paid} {
		handle(t, handlers[reactions.JournalHandler], record)
	}
	handle(t, handlers[reactions.NotifyHandler], paid)

	if rows, err := orders.History(t.Context(), "o-1", 0, 0); err != nil || len(rows) != 2 {
		t.Errorf("journal %+v, %v", rows, err)
	}

	if got := s.sent(); !slices.Equal(got, []workflow.State{workflow.PaymentReceived}) {
		t.Errorf("notified %q", got)
	}
}

// TestARepairRefusesNoRowOfTheJournal: a record that a repair cannot prove any more may still come
// late. The other handlers must not act on a version after a newer one.
func TestARepairRefusesNoRowOfTheJournal(t *testing.T) {
	var cfg reactions.Config
	newOrderSystem(t).at(t, 1, func(c *reactions.Config) { cfg = *c })

	r, err := reactions.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	for _, h := range r.Handlers() {
		if journal := h.Name == reactions.JournalHandler; journal != (h.Version == nil) {
			t.Errorf("handler %s has versions: %t", h.Name, h.Version != nil)
		}
	}
}
