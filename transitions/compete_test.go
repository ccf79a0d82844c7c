package transitions_test

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"ratchet/transitions"
	"ratchet/workflow"
)

var callers = flag.Int("callers", 60, "goroutines that move the same ten orders at once")

// TestConcurrentRequestsApplyEachIDOnce sends the same and competing transitions to
// the same orders from many goroutines. Each id must be applied once, and each order's
// history must be a path through the definition.
func TestConcurrentRequestsApplyEachIDOnce(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		const orders = 10

		goroutines := *callers
		if testing.Short() {
			goroutines = 30
		}

		s := newOrders(t)
		for i := range orders {
			s.place(t, transitions.OrderID(fmt.Sprintf("o-%d", i)))
		}

		var applied [orders][8]atomic.Int32
		var group sync.WaitGroup
		for g := range goroutines {
			group.Go(func() {
				for i := range orders {
					id := transitions.OrderID(fmt.Sprintf("o-%d", i))
					for n, event := range []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver} {
						if g%3 == 0 { // a third of them cancels instead
							event = workflow.Cancel
						}

						result, err := s.Apply(t.Context(), given(id, event, transitions.TransitionID(n+2)))
						if err != nil {
							t.Errorf("apply: %v", err)
							return
						}

						if result.Verdict == transitions.Applied {
							applied[i][n+2].Add(1)
						}
					}
				}
			})
		}
		group.Wait()

		for i := range orders {
			order, _, err := s.Get(t.Context(), transitions.OrderID(fmt.Sprintf("o-%d", i)))
			if err != nil {
				t.Fatal(err)
			}

			state := workflow.State("")
			for _, tr := range order.Recent() {
				if next, ok := workflow.Order().Next(state, tr.Event); tr.ID > 1 && (!ok || next != tr.To || tr.From != state) {
					t.Errorf("%s: %s from %s to %s after %s is not legal", order.ID, tr.Event, tr.From, tr.To, state)
				}

				if n := applied[i][tr.ID].Load(); tr.ID > 1 && n != 1 {
					t.Errorf("%s: transition %d was answered Applied %d times", order.ID, tr.ID, n)
				}
				state = tr.To
			}

			total := int32(0)
			for n := range applied[i] {
				total += applied[i][n].Load()
			}

			if int(total) != len(order.Recent())-1 || state != order.State {
				t.Errorf("%s: %d answers Applied, the item remembers %+v", order.ID, total, order.Recent())
			}
		}
	})
}

// TestOneOfManyConcurrentCancelsIsApplied lets 50 callers with different request ids
// cancel one order. One must be Applied, the others WrongState.
func TestOneOfManyConcurrentCancelsIsApplied(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")

		var winners atomic.Int32
		var group sync.WaitGroup
		for g := range 50 {
			group.Go(func() {
				result, err := s.Apply(t.Context(), keyed("o-1", workflow.Cancel, transitions.RequestID(fmt.Sprint(g))))
				switch {
				case err != nil:
					t.Error(err)
				case result.Verdict == transitions.Applied:
					winners.Add(1)
				case result.Verdict != transitions.WrongState:
					t.Errorf("caller %d: %s", g, result.Verdict)
				}
			})
		}
		group.Wait()

		if winners.Load() != 1 {
			t.Errorf("%d callers won", winners.Load())
		}
	})
}

// model is one order in its simplest form: where it is, and which request took which id.
type model struct {
	state   workflow.State
	id      transitions.TransitionID
	applied map[transitions.TransitionID]workflow.Event
	keys    map[transitions.RequestID]workflow.Event
	keyOf   map[transitions.TransitionID]bool
}

// TestVerdictsFollowTheModel applies random requests, both kinds mixed, and compares
// each verdict with the verdict of a plain model. Histories are short enough for the ring;
// older evidence is tested with the journal.
func TestVerdictsFollowTheModel(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			id := transitions.OrderID(fmt.Sprintf("o-%d", n))
			s.place(t, id)

			m := model{state: workflow.Pending, id: 1, applied: map[transitions.TransitionID]workflow.Event{1: workflow.Place},
				keys: map[transitions.RequestID]workflow.Event{}, keyOf: map[transitions.TransitionID]bool{}}
			events := []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver, workflow.Cancel, workflow.Hold, workflow.Release, workflow.RequestReturn, workflow.RejectReturn}
			for range rapid.IntRange(1, 12).Draw(rt, "requests") {
				event := rapid.SampledFrom(events).Draw(rt, "event")
				r := transitions.Request{OrderID: id, Event: event}
				if rapid.Bool().Draw(rt, "keyed") {
					r.RequestID = transitions.RequestID(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "key"))
				} else {
					r.TransitionID = transitions.TransitionID(rapid.IntRange(1, ringSize).Draw(rt, "id"))
				}

				if r.RequestID != "" && m.id >= ringSize {
					return
				}

				want := m.judge(r)
				result, err := s.Apply(t.Context(), r)
				if err != nil || result.Verdict != want {
					rt.Fatalf("%+v on %+v: got %s (error %v), the model says %s", r, m, result.Verdict, err, want)
				}

				if order, _, err := s.Get(t.Context(), id); err != nil || order.State != m.state || order.TransitionID != m.id {
					rt.Fatalf("after %+v the order is %+v (error %v), the model %s at %d", r, order, err, m.state, m.id)
				}
			}
		})
	})
}

// judge returns the verdict of a request and applies it to the model.
func (m *model) judge(r transitions.Request) transitions.Verdict {
	id := r.TransitionID
	if r.RequestID != "" {
		if event, used := m.keys[r.RequestID]; used {
			if event == r.Event {
				return transitions.Replayed
			}
			return transitions.Conflict
		}
		id = m.id + 1
	} else if event, taken := m.applied[id]; taken {
		switch {
		case m.keyOf[id]:
			return transitions.Superseded
		case event == r.Event:
			return transitions.Replayed
		}

		return transitions.Conflict
	}

	if id <= m.id {
		return transitions.Superseded
	}

	next, legal := workflow.Order().Next(m.state, r.Event)
	if !legal {
		return transitions.WrongState
	}

	m.state, m.id = next, id
	m.applied[id] = r.Event
	if r.RequestID != "" {
		m.keys[r.RequestID], m.keyOf[id] = r.Event, true
	}

	return transitions.Applied
}
