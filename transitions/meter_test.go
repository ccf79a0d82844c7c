package transitions_test

import (
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// units are the units of one call.
type units struct {
	verdict     transitions.Verdict
	read, write float64
}

// meteredOrders returns orders and a function that checks the units of the last call.
func meteredOrders(t *testing.T, mode transitions.JournalMode) (*orders, func(want units)) {
	s := newOrders(t)
	var calls []units
	s.reconfigure(func(c *transitions.Config) {
		c.Journal = mode
		c.Events.Consumed = func(_ transitions.OrderID, v transitions.Verdict, read, write float64) {
			calls = append(calls, units{v, read, write})
		}
	})

	if _, err := s.NewIncarnation(t.Context()); err != nil { // the first call of a process asks for the time
		t.Fatal(err)
	}

	return s, func(want units) {
		t.Helper()

		if len(calls) != 1 || calls[0] != want {
			t.Errorf("consumed %+v, want %+v", calls, want)
		}
		calls = nil
	}
}

// TestATransitionCostsOneWriteUnit checks the guarantee of the package: a transition of an
// order of up to 1 KB costs one write unit and no read. An order with an id of 36
// characters, one line and a full ring is more than a hundred bytes smaller.
func TestATransitionCostsOneWriteUnit(t *testing.T) {
	const id = "8f14e45f-ceea-467f-a1d3-c1b5d1e7a7c2"
	s, consumed := meteredOrders(t, transitions.JournalByStream)
	s.place(t, id)
	consumed(units{transitions.Applied, 0, 1})

	events := []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver}
	for range 4 {
		events = append(events, workflow.RequestReturn, workflow.RejectReturn)
	}

	size := 0
	for i, event := range events {
		s.want(t, given(id, event, transitions.TransitionID(i+2)), transitions.Applied)
		consumed(units{transitions.Applied, 0, 1})
		size = itemSize(s.Item(t, id))
		t.Logf("after transition %d the order has %d bytes", i+2, size)
	}

	if size > 900 {
		t.Errorf("an order with one line and a full ring has %d bytes", size)
	}
	s.want(t, given(id, events[len(events)-1], transitions.TransitionID(len(events)+1)), transitions.Replayed)
	consumed(units{transitions.Replayed, 0, 0}) // DynamoDB bills a failed condition but does not report it
}

func TestEveryKindOfCallCostsItsUnits(t *testing.T) {
	s, consumed := meteredOrders(t, transitions.JournalByStream)
	s.place(t, "o-1")
	consumed(units{transitions.Applied, 0, 1})
	s.want(t, keyed("o-1", workflow.Hold, "r"), transitions.Applied) // assigning an id costs a read
	consumed(units{transitions.Applied, 1, 1})
	r := keyed("o-1", workflow.Release, "r2")
	r.IfMatch = seen(2) // unless the caller knows the current id
	s.want(t, r, transitions.Applied)
	consumed(units{transitions.Applied, 0, 1})
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "a"), cup))
	consumed(units{transitions.Applied, 0, 1})

	s.want(t, given("o-1", workflow.Pay, 4), transitions.Applied)
	consumed(units{transitions.Applied, 0, 1})
	s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Applied)
	consumed(units{transitions.Applied, 1, 1})

	s, consumed = meteredOrders(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	consumed(units{transitions.Applied, 0, 4}) // two writes, each double
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
	consumed(units{transitions.Applied, 1, 4})
}
