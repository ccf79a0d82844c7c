package check

import (
	"slices"
	"strconv"
)

// enterParallel begins every branch of a Parallel. The branches are followed one at a time: another one's
// moves are among the moves that any task meets.
func (x *explorer) enterParallel(s *aslState, p point) {
	var faults []fault
	in := x.argumentsOf(s, p, &faults)
	if x.reportFaults(s, p, faults) {
		return
	}

	f := x.frames.of(frame{input: in, vars: objectOf(nil), up: p.frame, entry: x.current})
	for _, b := range s.branches {
		x.addEdge(b.byName[b.startAt], point{f, p.actual, p.facts}, way{})
	}
}

// enterMap begins the first item of a Map, or leaves it, because the list may be empty.
func (x *explorer) enterMap(s *aslState, p point) {
	x.enterItem(s, p, way{})
	x.leave(s, p, x.mapResult(s), way{how: "without an item"})
}

// mapResult returns the result of a Map: a list of outputs, which is not followed.
func (x *explorer) mapResult(s *aslState) *value {
	if s.branches[0].touchesOrder || s.scope.touchesOrder {
		return untrackedValue
	}

	return foreignValue
}

// enterItem begins an item of a Map.
func (x *explorer) enterItem(s *aslState, p point, w way) {
	var faults []fault
	in := x.effectiveInput(s, p, &faults)
	sc := x.scopeOf(p, in, &faults)

	var item *value
	switch {
	case s.itemSelector != nil && s.jsonata:
		item = sc.queryTemplate(s.itemSelector)
	case s.itemSelector != nil:
		item = sc.template(s.itemSelector)
	case s.jsonata:
		item = untrackedValue
	case s.itemsPath == "":
		item = foreignValue
	default:
		item = unfollowed(sc.path(s.itemsPath))
	}

	if x.reportFaults(s, p, faults) {
		return
	}

	b := s.branches[0]
	creates := slices.ContainsFunc(x.m.all, func(t *aslState) bool { return t.effect.Creates && inside(t, b) })
	f := x.frames.of(frame{
		input: item,
		vars:  objectOf(nil),
		up:    p.frame,
		entry: -1,
		alone: s.distributed,
		apart: creates && p.actual == noOrder,
	})
	x.addEdge(b.byName[b.startAt], point{f, p.actual, p.facts}, w)
}

// leaveScope goes on after the last state of a scope: the execution ends, a Map starts
// its next item or ends, or a Parallel waits for its other branches.
func (x *explorer) leaveScope(sc *aslScope, p point, w way) {
	s := sc.parent
	switch {
	case s == nil:
		x.ends[x.current] = true
		x.accept(p)
		x.checkReleased(p)
	case s.kind == "Map":
		x.leaveItem(s, p, w)
	default:
		x.endBranch(sc, p, w)
	}
}

// leaveItem goes on after an item of a Map: with the next one, or behind the Map after the last.
func (x *explorer) leaveItem(s *aslState, p point, w way) {
	next := p
	next.frame = p.frame.up
	if p.frame.apart {
		next.actual = noOrder
	}

	// A list has an end, so the items form no endless loop.
	again := w.and("next item")
	again.chance = true
	x.enterItem(s, next, again)

	p.frame = p.frame.up
	x.leave(s, p, x.mapResult(s), w)
}

// joinKey names one start of a Parallel.
type joinKey struct {
	parallel *aslState
	entry    int32
}

// parallelJoin has the ends of the branches of a Parallel that has started at a visit.
type parallelJoin struct {
	before uint16             // the facts that held at the start
	ends   [][]branchEnd      // of each branch
	seen   map[branchEnd]bool // whether the way there took time or chance
}

// branchEnd is the end of a branch.
type branchEnd struct {
	point         // frame is the one around the Parallel
	out    *value // what the Parallel's result keeps of the output
	branch int
}

// maxJoins is the number of combinations of ends that are followed one by one.
const maxJoins = 1 << 10

// endBranch leaves a Parallel with each combination of the ends of its branches. The branches do not wait
// for each other, so the order is where any of them has left it.
func (x *explorer) endBranch(sc *aslScope, p point, w way) {
	s := sc.parent
	key := joinKey{s, p.frame.entry}

	j := x.joins[key]
	if j == nil {
		j = &parallelJoin{before: x.visits[p.frame.entry].facts, ends: make([][]branchEnd, len(s.branches)), seen: map[branchEnd]bool{}}
		x.joins[key] = j
	}

	i := slices.Index(s.branches, sc)
	// The states behind the Parallel read only a part of its result.
	out := p.frame.input.keep(x.live.results[s].below("[" + strconv.Itoa(i) + "]"))
	e := branchEnd{point{x.live.prune(s, p.frame.up), p.actual, p.facts}, out, i}

	// The other branches may end later, or not so that the Parallel goes on from here.
	x.ends[x.current] = true
	w.chance = w.chance || slices.ContainsFunc(s.branches, func(b *aslScope) bool { return b != sc && x.waitsIn(b) })

	// An end that took time may come without.
	chance, seen := j.seen[e]
	if seen && (!chance || w.chance) {
		return
	}

	j.seen[e] = w.chance
	if !seen {
		j.ends[i] = append(j.ends[i], e)
	}
	x.joinEnds(s, j, e, w)
}

// waitsIn reports whether some state of a branch may last.
func (x *explorer) waitsIn(b *aslScope) bool {
	return slices.ContainsFunc(x.m.all, func(t *aslState) bool { return inside(t, b) && (t.waits || t.effect.Awaits != "") })
}

// joinEnds leaves the Parallel with a new end of a branch and each end of the others.
func (x *explorer) joinEnds(s *aslState, j *parallelJoin, e branchEnd, w way) {
	combinations := 1
	for i, ends := range j.ends {
		if i != e.branch {
			combinations *= len(ends)
		}
	}

	if combinations > maxJoins {
		x.joinUntracked(s, j, e, w)
		return
	}

	chosen := make([]branchEnd, len(j.ends))
	chosen[e.branch] = e
	x.choose(s, j, chosen, e.branch, 0, w)
}

// choose fills in the ends of the branches from i on.
func (x *explorer) choose(s *aslState, j *parallelJoin, chosen []branchEnd, fixed, i int, w way) {
	switch {
	case i == len(chosen):
		for last := range chosen {
			x.leaveParallel(s, chosen, last, j.before, w)
		}
	case i == fixed:
		x.choose(s, j, chosen, fixed, i+1, w)
	default:
		for _, e := range j.ends[i] {
			chosen[i] = e
			x.choose(s, j, chosen, fixed, i+1, w)
		}
	}
}

// leaveParallel leaves a Parallel whose branches have ended so, where one of them was the last to know the
// order's position.
func (x *explorer) leaveParallel(s *aslState, chosen []branchEnd, last int, before uint16, w way) {
	p := chosen[last].point
	facts := before

	for _, e := range chosen {
		if p.frame.contradicts(e.frame) {
			return
		}
		facts |= e.facts
	}

	for _, e := range chosen {
		// A fact that held before the Parallel and has been released by a branch.
		facts &^= before &^ e.facts
	}
	p.facts = facts

	results := [][]*value{nil}
	for i, e := range chosen {
		var outs []*value
		for _, by := range x.between(e.actual, p.actual) {
			if i != last || by == nothing {
				outs = append(outs, e.out.moved(by))
			}
		}

		// The order cannot have come from there.
		if len(outs) == 0 {
			return
		}

		var longer [][]*value
		for _, r := range results {
			for _, out := range outs {
				longer = append(longer, append(slices.Clone(r), out))
			}
		}
		results = longer
	}

	for _, r := range results {
		x.leave(s, p, listOf(r), w)
	}
}

// between returns the events that may have been the first on the way from one position to another.
func (x *explorer) between(from, to int16) []first {
	if from == noOrder || to == noOrder {
		return []first{nothing}
	}

	var by []first
	for _, m := range x.possibleMoves(from) {
		if m.to == to && !slices.Contains(by, m.by) {
			by = append(by, m.by)
		}
	}

	return by
}

// joinUntracked leaves a Parallel that has too many combinations, without what its branches return.
func (x *explorer) joinUntracked(s *aslState, j *parallelJoin, e branchEnd, w way) {
	p := e.point
	for _, b := range s.branches {
		for _, t := range x.m.all {
			if b != s.branches[e.branch] && inside(t, b) {
				p.facts = x.applyFacts(t.effect, p.facts)
			}
		}
	}

	outs := make([]*value, len(j.ends))
	for i := range outs {
		outs[i] = untrackedValue
	}
	x.leave(s, p, listOf(outs), w)
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

// inside reports whether a state is in a scope, at any depth.
func inside(s *aslState, sc *aslScope) bool {
	for in := s.scope; in != nil; in = in.outer() {
		if in == sc {
			return true
		}
	}

	return false
}
