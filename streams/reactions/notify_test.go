package reactions_test

import (
	"slices"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
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

func TestANotificationCostsOneReadAndOneWrite(t *testing.T) {
	s := newShop(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	record := s.move(t, orders, workflow.Pay)
	s.transport.Reset()
	handle(t, handlers[reactions.NotifyHandler], record)

	if got, want := s.transport.Calls(), []string{"GetItem", "UpdateItem"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestANotificationHappensOnceAtAFarSideThatHonorsTheKey crashes at every point of its
// delivery, delivers again until it succeeds, and once more.
func TestANotificationHappensOnceAtAFarSideThatHonorsTheKey(t *testing.T) {
	for name, test := range map[string]struct {
		fault   embeddedtest.Fault
		down    bool // the far side takes the first notification and does not answer
		arrived int
	}{
		"before it is sent":           {fault: embeddedtest.LoseRequest("GetItem").Next(1), arrived: 1},
		"the answer of the far side":  {down: true, arrived: 2},
		"before it is stored as sent": {fault: embeddedtest.LoseRequest("UpdateItem").Next(1), arrived: 2},
		"after it was stored as sent": {fault: embeddedtest.LoseAnswer("UpdateItem").Next(1), arrived: 1},
		"after the handler had ended": {arrived: 1},
	} {
		s := newShop(t)
		orders, handlers := s.at(t, 1)
		place(t, orders)
		record := s.move(t, orders, workflow.Pay)

		effects := map[string]bool{}
		s.sink = func(n notify.Notification) error {
			effects[n.Key] = true

			if test.down && len(s.notices) == 1 {
				return errUnavailable
			}

			return nil
		}

		if test.fault.On != nil {
			test.fault.Err = errUnavailable
			s.transport.Inject(test.fault)
		}

		failures := 0
		for delivered := 0; delivered < 2; {
			switch err := handlers[reactions.NotifyHandler](t.Context(), record); {
			case err == nil:
				delivered++
			case failures > 0:
				t.Fatalf("%s: %v", name, err)
			default:
				failures++
			}
		}

		if len(effects) != 1 || len(s.sent()) != test.arrived {
			t.Errorf("%s: %d effects, %d arrivals, want 1 and %d", name, len(effects), len(s.sent()), test.arrived)
		}
	}
}
