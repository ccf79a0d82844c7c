package linearizability

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"ratchet/transitions"
	"ratchet/workflow"
)

// placeID is the transitionId of placing an order.
const placeID transitions.TransitionID = 1

// ringSize is how many transitions an order's item remembers.
const ringSize = 8

// call is one call of a client: Apply or, with verb "create" or "get", one of the others.
type call struct {
	verb    string
	request transitions.Request
	total   int64
}

// made is a transition as answers show it.
type made struct {
	id       transitions.TransitionID
	event    workflow.Event
	from, to workflow.State
}

// answer is the answer to a call.
type answer struct {
	// unknown: the call may take effect at any later moment, or never.
	unknown bool
	verdict transitions.Verdict
	// transition is set if the verdict is Applied or Replayed.
	transition made
	// found says that the answer has the order; state and id say where it was.
	found bool
	state workflow.State
	id    transitions.TransitionID
	// ring is the content of the order's ring, in answers to get.
	ring []made
}

// model is the specification that Porcupine checks a history of one order against.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return (*order)(nil) },
		Step: func(state, input, output any) (bool, any) {
			return step(state.(*order), input.(call), output.(answer))
		},
		Equal: func(a, b any) bool { return equal(a.(*order), b.(*order)) },
		Hash: func(state any) uint64 {
			if o := state.(*order); o != nil {
				return o.hash
			}
			return 0
		},
		DescribeOperation: func(input, output any) string { return input.(call).String() + " -> " + output.(answer).String() },
		DescribeState: func(state any) string {
			if o := state.(*order); o != nil {
				return fmt.Sprintf("%s at %d", o.to, o.id)
			}
			return "no order"
		},
	}
}

// step reports whether the order could have given the answer, and returns the order after
// it.
func step(o *order, c call, a answer) (bool, *order) {
	if c.verb == "get" {
		return a.standsAt(o) && a.remembers(o), o
	}

	verdict, entry, after := o.judge(c.request)
	if c.verb == "create" {
		verdict, entry, after = o.place(c.total)
	}

	if a.unknown {
		return true, after
	}

	if entry != nil && a.transition != entry.made() {
		return false, o
	}

	switch {
	case verdict == transitions.Applied && a.id > entry.id:
		// The answer was lost, and the image is of a later moment. If the slot was in
		// use again by then, the journal had the transition but not the call id.
		forgotten := a.id >= entry.id+ringSize
		return a.verdict == transitions.Applied || (forgotten && a.verdict == transitions.Replayed), after
	case verdict == transitions.NotFound:
		return a.verdict == verdict && !a.found, after
	}

	return a.verdict == verdict && a.standsAt(after), after
}

// place returns the verdict of a Create, its evidence and the order afterwards.
func (o *order) place(total int64) (transitions.Verdict, *order, *order) {
	switch {
	case o == nil:
		after := o.with(order{id: placeID, event: place, to: placed, total: total})
		return transitions.Applied, after, after
	case o.total != total:
		return transitions.Conflict, nil, o
	}

	return transitions.Replayed, o.under(placeID), o
}

func (o *order) made() made { return made{o.id, o.event, o.from, o.to} }

// standsAt reports whether the answer shows the order as it is.
func (a answer) standsAt(o *order) bool {
	if o == nil || !a.found {
		return o == nil && !a.found
	}
	return a.state == o.to && a.id == o.id
}

// remembers reports whether the answer has the right ring: for each slot the newest
// transition that belongs there, oldest first.
func (a answer) remembers(o *order) bool {
	var slots [ringSize]bool
	for i := len(a.ring); o != nil; o = o.before {
		if slot := o.id % ringSize; !slots[slot] {
			slots[slot] = true

			if i--; i < 0 || a.ring[i] != o.made() {
				return false
			}

			if i == 0 {
				return !o.older(slots)
			}
		}
	}

	return len(a.ring) == 0
}

// older reports whether an entry before this one belongs into another slot than those seen.
func (o *order) older(slots [ringSize]bool) bool {
	for e := o.before; e != nil; e = e.before {
		if !slots[e.id%ringSize] {
			return true
		}
	}

	return false
}

func (c call) String() string {
	switch r := c.request; {
	case c.verb != "":
		return fmt.Sprintf("%s %d", c.verb, c.total)
	case r.IfMatch != nil:
		return fmt.Sprintf("%s%s by %s if-match %d", r.Event, r.From, r.RequestID, *r.IfMatch)
	default:
		return fmt.Sprintf("%s%s by %q under %d", r.Event, r.From, r.RequestID, r.TransitionID)
	}
}

func (a answer) String() string {
	if a.unknown {
		return "unknown"
	}
	return fmt.Sprintf("%s %v (%s at %d)", a.verdict, a.transition, a.state, a.id)
}
