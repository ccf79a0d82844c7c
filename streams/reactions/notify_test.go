package reactions_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"ratchet/once/txn"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestACustomerIsToldOfEachStateOnce holds and releases a paid order twice.
func TestACustomerIsToldOfEachStateOnce(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)

	for _, event := range []workflow.Event{
		workflow.Pay, workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Ship, workflow.Deliver,
	} {
		record := s.move(t, orders, event)
		for range 2 {
			handle(t, handlers[reactions.NotifyHandler], record)
		}
	}

	if got, want := s.sent(), []workflow.State{workflow.PaymentReceived, workflow.Shipped, workflow.Delivered}; !slices.Equal(got, want) {
		t.Errorf("notices %v, want %v", got, want)
	}
}

func TestANotificationSaysWhatHasHappened(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	handle(t, handlers[reactions.NotifyHandler], s.move(t, orders, workflow.Pay))

	n := s.notices[0]
	if n.Key != key(t, orders, "notify") || n.OrderID != "o-1" || n.TransitionID != 2 || n.State != workflow.PaymentReceived ||
		n.Event != workflow.Pay || n.From != workflow.Pending || n.At.IsZero() || !maps.Equal(n.Attributes, map[string]string{"currency": "EUR"}) {
		t.Errorf("got %+v", n)
	}
}

// TestEveryEventCanBeNotified: an event that keeps the state, or leads to a state of which customers are not
// notified, is handed on for the endpoints that name it.
func TestEveryEventCanBeNotified(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)

	for _, event := range []workflow.Event{workflow.Hold, workflow.Release, workflow.Pay, workflow.ShipPart, workflow.ShipPart} {
		handle(t, handlers[reactions.NotifyHandler], s.move(t, orders, event))
	}

	var got []string
	for _, n := range s.notices {
		got = append(got, fmt.Sprintf("%s %s %t", n.Event, n.State, n.Named))
	}

	want := []string{"hold ON_HOLD true", "release PENDING true", "pay PAYMENT_RECEIVED false", "ship_part PARTIALLY_SHIPPED false", "ship_part PARTIALLY_SHIPPED true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestANotificationThatIsNotStoredFailsTheRecord(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	record := s.move(t, orders, workflow.Pay)
	s.accept = errUnavailable

	if err := handlers[reactions.NotifyHandler](t.Context(), record); !errors.Is(err, errUnavailable) || streams.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

// TestANotificationThatIsStoredDuringAnErasureLosesThePerson: the handler of a late change has read the
// order before its person was erased, and stores the notification after that. A change that has just
// happened needs no look: nothing is erased then.
func TestANotificationThatIsStoredDuringAnErasureLosesThePerson(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	record := s.move(t, orders, workflow.Cancel)

	handle(t, handlers[reactions.NotifyHandler], record)

	record.Late = true
	handle(t, handlers[reactions.NotifyHandler], record)

	if len(s.erased) != 0 {
		t.Fatalf("%q were erased", s.erased)
	}

	s.stored = func() { s.erasePerson(t, orders) }
	handle(t, handlers[reactions.NotifyHandler], record)

	if !slices.Equal(s.erased, []string{"o-1"}) {
		t.Errorf("the notifications of %q were erased", s.erased)
	}
}

// erasePerson erases the person from the order's item.
func (s *orderSystem) erasePerson(t *testing.T, orders *transitions.Orders) {
	t.Helper()

	order, _, err := orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	part, err := orders.EraseIn(order)
	if err != nil {
		t.Fatal(err)
	}

	writer, err := txn.New(txn.Config{DynamoDB: s.DB})
	if err != nil {
		t.Fatal(err)
	}

	var tx txn.Transaction
	part(&tx)

	if err := writer.Write(t.Context(), &tx); err != nil {
		t.Fatal(err)
	}
}
