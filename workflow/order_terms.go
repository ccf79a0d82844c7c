package workflow

import (
	"slices"
	"time"
)

// Terms are what time does to the orders of [OrderWith]. Zero values: nothing.
type Terms struct {
	// ExpireUnpaid is how long an order may be PENDING. Then it is expired. While an order is on hold, the time does
	// not run, and after its release it begins again: the shop has stopped the order, and not the customer.
	ExpireUnpaid time.Duration
	// ReturnWindow is how long after its delivery an order can be returned. Then it is closed. A return that is
	// rejected begins the window again, because the order enters DELIVERED again.
	ReturnWindow time.Duration
}

// OrderWith returns the definition of [Order] with timed transitions. It has the same name, version, states and
// events, so orders need no migration when the terms change. Without terms it is the same definition. The
// error says which term is no delay of [After].
func OrderWith(terms Terms) (*Definition, error) {
	if terms == (Terms{}) {
		return Order(), nil
	}

	spec := orderSpec()
	spec.time(Expire, Pending, terms.ExpireUnpaid)
	spec.time(Close, Delivered, terms.ReturnWindow)

	return New(spec)
}

// time lets time make a transition from one of its sources. The others remain a transition of their own.
func (s *Spec) time(event Event, from State, delay time.Duration) {
	if delay == 0 {
		return
	}

	i := slices.IndexFunc(s.Transitions, func(t Transition) bool { return t.Event == event && slices.Contains(t.From, from) })
	t := &s.Transitions[i]

	timed := Transition{Event: event, From: []State{from}, To: t.To, After: &After{Delay: delay}}
	if len(t.From) == 1 {
		*t = timed
		return
	}

	t.From = slices.DeleteFunc(t.From, func(s State) bool { return s == from })
	s.Transitions = slices.Insert(s.Transitions, i, timed)
}
