package linearizability

import (
	"hash/maphash"

	"ratchet/transitions"
	"ratchet/workflow"
)

// order is the model's order: a list of everything that was applied to it, from the newest
// entry back. nil is an order that does not exist. Entries never change, so that the checker
// can return to an earlier state.
type order struct {
	before *order
	id     transitions.TransitionID
	event  workflow.Event
	// narrowed is the source state that the request named; from is the order's.
	narrowed, from, to workflow.State
	key                transitions.RequestID
	assigned           bool
	// total is the total with which the order was placed.
	total int64
	// depth and hash make two orders comparable without walking them.
	depth int
	hash  uint64
}

var hashSeed = maphash.MakeSeed()

// with returns the order after one more entry.
func (o *order) with(next order) *order {
	next.before = o
	if o != nil {
		next.from, next.total, next.depth = o.to, o.total, o.depth+1
	}

	type fields struct {
		before       uint64
		id           transitions.TransitionID
		event        workflow.Event
		narrowed, to workflow.State
		key          transitions.RequestID
		assigned     bool
		total        int64
		placed       bool
	}
	f := fields{id: next.id, event: next.event, narrowed: next.narrowed, to: next.to, key: next.key, assigned: next.assigned, total: next.total, placed: o == nil}
	if o != nil {
		f.before = o.hash
	}
	next.hash = maphash.Comparable(hashSeed, f)

	return &next
}

// equal compares two orders entry by entry, up to the entries that they share.
func equal(a, b *order) bool {
	for a != b {
		if a == nil || b == nil || a.hash != b.hash || a.depth != b.depth || a.id != b.id || a.event != b.event || a.narrowed != b.narrowed ||
			a.to != b.to || a.key != b.key || a.assigned != b.assigned || a.total != b.total {
			return false
		}
		a, b = a.before, b.before
	}

	return true
}

// under returns the entry with the id.
func (o *order) under(id transitions.TransitionID) *order {
	for o != nil && o.id > id {
		o = o.before
	}

	if o == nil || o.id != id {
		return nil
	}

	return o
}

// by returns the entry that the request id made.
func (o *order) by(key transitions.RequestID) *order {
	for o != nil && o.key != key {
		o = o.before
	}
	return o
}

// judge returns the verdict that the order gives to the request, the entry that is the
// evidence, and the order afterwards.
func (o *order) judge(r transitions.Request) (v transitions.Verdict, entry, after *order) {
	// Without an order, the definition answers.
	switch {
	case o == nil && !possible(r):
		return transitions.Illegal, nil, o
	case o == nil:
		return transitions.NotFound, nil, o
	}

	v, entry = o.known(r)
	switch {
	case v != 0:
		return v, entry, o
	case !possible(r):
		return transitions.Illegal, nil, o
	}

	to, legal := definition().Next(o.to, r.Event)
	if !legal || (r.From != "" && r.From != o.to) {
		return transitions.WrongState, nil, o
	}

	id := idOf(r)
	if id == 0 {
		id = o.id + 1
	}
	after = o.with(order{id: id, event: r.Event, narrowed: r.From, to: to, key: r.RequestID, assigned: r.TransitionID == 0})

	return transitions.Applied, after, after
}

// possible reports whether the definition allows the event from some state, or from the
// state that the request names.
func possible(r transitions.Request) bool {
	if r.From == "" {
		return len(definition().Groups(r.Event)) > 0
	}
	_, ok := definition().Next(r.From, r.Event)

	return ok
}

// idOf returns the id that the request demands, 0 if any is right.
func idOf(r transitions.Request) transitions.TransitionID {
	if r.IfMatch != nil {
		return *r.IfMatch + 1
	}
	return r.TransitionID
}

// known returns the verdict that follows from the applied transitions, 0 if they do not
// decide.
func (o *order) known(r transitions.Request) (transitions.Verdict, *order) {
	if r.RequestID != "" {
		if mine := o.by(r.RequestID); mine != nil && mine.says(r) {
			return transitions.Replayed, mine
		} else if mine != nil {
			return transitions.Conflict, nil
		}
	}

	id := idOf(r)
	taken := o.under(id)
	switch {
	case id == 0:
		return 0, nil
	case taken != nil && (taken.assigned || r.TransitionID == 0):
		return transitions.Superseded, nil
	case taken != nil && taken.key == "" && r.RequestID == "" && taken.says(r):
		return transitions.Replayed, taken
	case taken != nil:
		return transitions.Conflict, nil
	case id <= o.id:
		return transitions.Superseded, nil
	case r.IfMatch != nil && *r.IfMatch > o.id:
		return transitions.Conflict, nil
	}

	return 0, nil
}

// says reports whether the entry has the request's content.
func (o *order) says(r transitions.Request) bool { return o.event == r.Event && o.narrowed == r.From }
