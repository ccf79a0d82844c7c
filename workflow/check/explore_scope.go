package check

import (
	"slices"

	"ratchet/workflow"
)

// leaveScope goes on after the last state of a scope: the execution ends, a Map starts
// its next item or ends, or a Parallel waits for its other branches.
func (x *explorer) leaveScope(sc *aslScope, v view, how string) {
	p := sc.parent
	if p == nil {
		x.ends[x.current] = true
		x.accept(v)
		x.checkReleased(v)

		return
	}

	if p.kind == "Map" {
		// Another item may follow, and the last one leaves the Map.
		x.addEdge(sc.byName[sc.startAt], v, "next item", false)
		x.leave(p, x.afterResult(p, v, false), how, false)

		return
	}

	if x.siblingMoves[sc] == nil {
		x.siblingMoves[sc] = x.order.outsideMoves("another branch", x.siblingEvents(sc))
	}

	v.facts = x.factsOfSiblings(sc, v.facts)

	// The branches that touch the order decide how the Parallel goes on. Any other branch ends here.
	anyTouches := slices.ContainsFunc(p.branches, func(b *aslScope) bool { return b.touchesOrder })
	if !sc.touchesOrder && p.scope.touchesOrder && anyTouches {
		x.ends[x.current] = true
		return
	}

	x.leave(p, x.afterResult(p, v, false), how, false)

	if v.actual < 0 {
		return
	}

	// While this branch waited for the others, they may have moved the order.
	for _, m := range x.siblingMoves[sc][v.actual] {
		after := view{known: m.to, actual: m.to, facts: v.facts, stale: true}
		x.leave(p, x.afterResult(p, after, false), m.how, false)
	}
}

// factsOfSiblings applies the facts of the other branches of a Parallel, which goes on
// when all of them have ended.
func (x *explorer) factsOfSiblings(sc *aslScope, facts uint16) uint16 {
	for _, b := range sc.parent.branches {
		// Its own facts are in the view already.
		if b == sc {
			continue
		}

		for _, s := range x.m.all {
			if inside(s, b) {
				facts = x.applyFacts(s.effect, facts)
			}
		}
	}

	return facts
}

// applyFacts returns the facts that hold after a task.
func (x *explorer) applyFacts(e Effect, facts uint16) uint16 {
	for _, fact := range e.Provides {
		facts |= x.factBits[fact]
	}

	for _, fact := range e.Releases {
		facts &^= x.factBits[fact]
	}

	return facts
}

// siblingEvents lists the events that the other branches of a Parallel apply.
func (x *explorer) siblingEvents(sc *aslScope) []workflow.Event {
	var events []workflow.Event
	for _, s := range x.m.all {
		if s.effect.Event == "" {
			continue
		}

		for in := s.scope; in.parent != nil; in = in.parent.scope {
			if in.parent == sc.parent && in != sc {
				events = append(events, s.effect.Event)
			}
		}
	}

	return events
}

// inside reports whether a state is in a scope, at any depth.
func inside(s *aslState, sc *aslScope) bool {
	for in := s.scope; in != nil; in = in.outer() {
		if in == sc {
			return true
		}
	}

	return false
}
