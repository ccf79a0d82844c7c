package reactions_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/workflow"
)

// TestACustomerIsToldOfEachStateOnce holds and releases a paid order twice.
func TestACustomerIsToldOfEachStateOnce(t *testing.T) {
	s := newShop(t)
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
	s := newShop(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	handle(t, handlers[reactions.NotifyHandler], s.move(t, orders, workflow.Pay))

	n := s.notices[0]
	if n.Key != "o-1/2/notify" || n.OrderID != "o-1" || n.TransitionID != 2 || n.State != workflow.PaymentReceived ||
		n.Event != workflow.Pay || n.From != workflow.Pending || n.At.IsZero() || !maps.Equal(n.Attributes, map[string]string{"currency": "EUR"}) {
		t.Errorf("got %+v", n)
	}
}

func TestANotificationThatIsNotStoredFailsTheRecord(t *testing.T) {
	s := newShop(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	record := s.move(t, orders, workflow.Pay)
	s.accept = errUnavailable

	if err := handlers[reactions.NotifyHandler](t.Context(), record); !errors.Is(err, errUnavailable) || streams.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}
