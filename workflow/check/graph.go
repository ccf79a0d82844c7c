package check

import (
	"math"
	"slices"
)

// successors lists the states to which the state leads inside its scope. planned leaves Catch out.
func (s *aslState) successors(planned bool) []*aslState {
	var to []*aslState
	s.targets(func(next string, _ int, what string) {
		if planned && what == "Catch" {
			return
		}

		if t := s.scope.byName[next]; t != nil && !slices.Contains(to, t) {
			to = append(to, t)
		}
	})

	return to
}

// shortest returns the usage of the path with the fewest history events that ends well. It prefers a path
// without an error, then one with caught errors, and takes a path that fails only if there is no other.
func (sc *aslScope) shortest() usage {
	if sc.least == nil {
		u, endsWell := sc.nearestEnd(true)
		if !endsWell {
			// A caught error may be the only way to a good end.
			u, _ = sc.nearestEnd(false)
		}

		sc.least = &u
	}

	return *sc.least
}

// nearestEnd returns the usage of the path to the nearest end, and whether that is not a
// Fail. planned leaves Catch out. Any other end counts before a Fail.
func (sc *aslScope) nearestEnd(planned bool) (nearest usage, endsWell bool) {
	start := sc.byName[sc.startAt]
	best := map[*aslState]usage{start: {}}
	found := false

	for queue := []*aslState{start}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		after := best[s].plus(s.usage(false, true))

		well := s.end || s.kind == "Succeed"
		// The fewest events count, whatever the number of states.
		nearer := !found || after.events < nearest.events
		if well && (!endsWell || nearer) || s.kind == "Fail" && !endsWell && nearer {
			nearest, endsWell, found = after, well, true
		}

		for _, t := range s.successors(planned) {
			// A shorter way may be found later, because states use different numbers of events.
			if old, seen := best[t]; !seen || after.events < old.events {
				best[t] = after
				queue = append(queue, t)
			}
		}
	}

	return nearest, endsWell
}

// longest returns an upper bound of the usage of a path that visits each state at most
// once. worst uses every retry up.
func (sc *aslScope) longest(worst bool) usage {
	if sc.most[worst] == nil {
		u := sc.computeLongest(worst)
		sc.most[worst] = &u
	}

	return *sc.most[worst]
}

// computeLongest counts the states of a loop together. The loops then form a graph without
// loops, whose longest path is easy to find.
func (sc *aslScope) computeLongest(worst bool) usage {
	components := sc.components()
	of := map[*aslState]int{}
	for i, component := range components {
		for _, s := range component {
			of[s] = i
		}
	}

	// A component comes after all its successors, so their usage is computed already.
	longest := make([]usage, len(components))
	for i, component := range components {
		var own, rest usage
		for _, s := range component {
			own = own.plus(s.usage(worst, false))

			for _, t := range s.successors(false) {
				if of[t] != i {
					rest = rest.max(longest[of[t]])
				}
			}
		}

		longest[i] = own.plus(rest)
	}

	if start := sc.byName[sc.startAt]; start != nil {
		return longest[of[start]]
	}

	return usage{}
}

// components returns the strongly connected components of the scope's graph (Tarjan's algorithm). A
// component comes after all its successors. A state outside any loop is a component of its own.
func (sc *aslScope) components() [][]*aslState {
	index, low := map[*aslState]int{}, map[*aslState]int{}
	onStack := map[*aslState]bool{}
	var stack []*aslState
	var components [][]*aslState

	var visit func(s *aslState)
	visit = func(s *aslState) {
		index[s] = len(index) + 1
		low[s] = index[s]
		stack = append(stack, s)
		onStack[s] = true

		for _, t := range s.successors(false) {
			if index[t] == 0 {
				visit(t)
				low[s] = min(low[s], low[t])
			} else if onStack[t] {
				low[s] = min(low[s], index[t])
			}
		}

		if low[s] != index[s] {
			return
		}

		// s is the first state of a component. The other states of the
		// component lie above it on the stack.
		at := len(stack) - 1
		for stack[at] != s {
			at--
		}

		component := slices.Clone(stack[at:])
		stack = stack[:at]

		for _, t := range component {
			onStack[t] = false
		}
		components = append(components, component)
	}

	for _, s := range sc.states {
		if index[s] == 0 {
			visit(s)
		}
	}

	return components
}

// shortestTurn returns the fewest history events with which the first state of a loop comes
// back to itself. The way back never leaves the loop.
func shortestTurn(loop []*aslState) float64 {
	inLoop := setOf(loop)
	goal, turn := loop[0], math.Inf(1)
	best := map[*aslState]float64{goal: 0}

	for queue := []*aslState{goal}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		events := best[from] + from.usage(false, true).events

		for _, to := range from.successors(false) {
			if to == goal {
				turn = min(turn, events)
				continue
			}

			if old, seen := best[to]; inLoop[to] && (!seen || events < old) {
				best[to] = events
				queue = append(queue, to)
			}
		}
	}

	return turn
}

// turnsWithoutError reports whether the loop turns without any Catch.
func turnsWithoutError(loop []*aslState) bool {
	const open, done = 1, 2
	inLoop := setOf(loop)
	mark := map[*aslState]int{}

	// A state is open while the search is below it, so an edge to an open state closes a loop.
	var turns func(s *aslState) bool
	turns = func(s *aslState) bool {
		mark[s] = open
		defer func() { mark[s] = done }()

		return slices.ContainsFunc(s.successors(true), func(t *aslState) bool {
			return inLoop[t] && (mark[t] == open || (mark[t] == 0 && turns(t)))
		})
	}

	return slices.ContainsFunc(loop, func(s *aslState) bool { return mark[s] == 0 && turns(s) })
}

// leadsTo reports whether the goal can be reached without another error.
func leadsTo(from, goal *aslState, seen map[*aslState]bool) bool {
	if from == nil || seen[from] {
		return false
	}

	seen[from] = true

	return from == goal || slices.ContainsFunc(from.successors(true), func(t *aslState) bool { return leadsTo(t, goal, seen) })
}

func setOf(states []*aslState) map[*aslState]bool {
	set := make(map[*aslState]bool, len(states))
	for _, s := range states {
		set[s] = true
	}

	return set
}
