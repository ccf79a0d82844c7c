package workflow

import (
	"slices"
	"strings"
)

// leaveScope goes on after the last state of a scope: the execution ends, a Map takes
// its next item or is done, a Parallel waits for its other branches.
func (x *explorer) leaveScope(sc *aslScope, v view, how string) {
	p := sc.parent
	if p == nil {
		x.ends[x.at] = true
		x.accept(v)
		x.settle(v)
		return
	}

	if p.kind == "Map" {
		x.emit(sc.byName[sc.startAt], v, "next item", false)
		x.leave(p, x.written(p, v, false), how, false)
		return
	}

	if x.beside[sc] == nil {
		x.beside[sc] = x.drifts(x.siblings(sc))
	}

	v.facts = x.joined(sc, v.facts)
	if !sc.acts && p.scope.acts && slices.ContainsFunc(p.branches, func(b *aslScope) bool { return b.acts }) {
		x.ends[x.at] = true // the acting branches say how it goes on
		return
	}
	x.leave(p, x.written(p, v, false), how, false)

	if v.actual < 0 {
		return
	}

	for _, d := range x.beside[sc][v.actual] {
		x.leave(p, x.written(p, view{d.to, d.to, v.facts, true}, false), strings.Replace(d.how, "somebody", "another branch", 1), false)
	}
}

// joined adds what the other branches of a Parallel see to: it goes on when all of
// them are done.
func (x *explorer) joined(sc *aslScope, facts uint16) uint16 {
	for _, b := range sc.parent.branches {
		if b == sc {
			continue
		}

		for _, s := range x.m.all {
			if len(s.effect.Gives)+len(s.effect.Takes) > 0 && inside(s, b) {
				facts = x.succeeded(s.effect, facts)
			}
		}
	}

	return facts
}

// succeeded is what holds after a task.
func (x *explorer) succeeded(e Effect, facts uint16) uint16 {
	for _, word := range e.Gives {
		facts |= x.words[word]
	}

	for _, word := range e.Takes {
		facts &^= x.words[word]
	}

	return facts
}

// siblings lists the events that the other branches of a Parallel apply.
func (x *explorer) siblings(sc *aslScope) []Event {
	var events []Event
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
