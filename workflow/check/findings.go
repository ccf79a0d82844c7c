package check

import (
	"fmt"
	"slices"
	"strings"

	"ratchet/workflow"
)

// judge says what the explored product means.
func (x *explorer) addFindings() {
	byState := map[*aslState][]int32{}
	for i, v := range x.visits {
		byState[v.state] = append(byState[v.state], int32(i))
	}

	for _, s := range x.m.all {
		if len(byState[s]) == 0 {
			if x.linked(s) {
				x.at(SeverityWarning, "dead-state", s, 0, "no order ever comes here: the rules and events that lead here cannot happen")
			}
			continue
		}
		x.findRefusedTask(s, byState[s])
		x.findDeadRules(s)
		x.findParallelMoves(s)
	}
	x.findMissingEnds()
	x.findEndlessPath()
	x.findUnusedEvents()
}

// linked reports whether nothing else has been said about the state's being unreachable.
func (x *explorer) linked(s *aslState) bool {
	return !slices.ContainsFunc(x.findings, func(f Finding) bool { return f.Code == "unreachable-state" && f.State == s.path() })
}

// findRefusedTask reports a transition or a wait that can never succeed, and says from
// where it is refused on the way.
func (x *explorer) findRefusedTask(s *aslState, nodes []int32) {
	e := s.effect
	if (!e.moves() && e.Awaits == "") || x.reported["event-before-creation "+s.path()] {
		return
	}

	var here, refused []string
	fresh := false
	for _, i := range nodes {
		v := x.visits[i]
		name := string(x.order.name(v.actual))
		if !v.stale || v.known == lost {
			fresh = true
		}

		if !slices.Contains(here, name) {
			here = append(here, name)
		}

		if !v.stale && e.Event != "" && len(x.order.targets(v.actual, e.Event)) == 0 && !slices.Contains(refused, name) {
			refused = append(refused, name)
		}
	}

	x.current = nodes[0]
	switch {
	case !x.succeeds[s] && e.Awaits != "":
		x.report(SeverityError, "awaited-unreachable", s, "the task waits for %s, but the order can only be %s here and never gets there", e.Awaits, strings.Join(here, ", "))
	case !x.succeeds[s] && !fresh:
		x.report(SeverityError, "stale-order-data", s, "the data is out of date on every path: somebody moved the order, nothing wrote its position to %s, and event %s is refused again", x.base, e.Event)
	case !x.succeeds[s]:
		x.report(SeverityError, "illegal-event", s, "event %s is legal from %s, but the order can only be %s here", e.Event, listStates(x.d.Sources(e.Event)), strings.Join(here, ", "))
	case len(refused) > 0:
		x.at(SeverityInfo, "event-may-be-refused", s, 0, "the order may be %s here, where event %s is refused; a Catch takes it", strings.Join(refused, ", "), e.Event)
	}
}

func listStates(states []workflow.State) string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}

	return strings.Join(names, ", ")
}

// findDeadRules reports rules about the order that never apply.
func (x *explorer) findDeadRules(s *aslState) {
	for i, r := range s.rules {
		if x.appliedRules[s][i] || s.jsonata || !r.cond.about(x.cfg.Variable) {
			continue
		}
		unknown := false
		r.cond.walk(func(p *condition) {
			unknown = unknown || (p.op == "StringEquals" && !x.d.HasState(workflow.State(p.operand)))
		})

		if !unknown {
			x.at(SeverityWarning, "dead-choice-rule", s, r.line, "rule %d never applies: no order comes here in such a state, or an earlier rule takes it", i+1)
		}
	}
}

// findParallelMoves reports branches that move one order at the same time.
func (x *explorer) findParallelMoves(s *aslState) {
	moving := 0
	for _, b := range s.branches {
		for _, t := range x.m.all {
			if t.effect.moves() && inside(t, b) {
				moving++
				break
			}
		}
	}

	if moving > 1 {
		x.at(SeverityWarning, "parallel-transitions", s, 0, "%d branches move the order at the same time: their transitionIds are computed from the same data, so only one of them wins", moving)
	}

	if s.kind == "Map" && moving > 0 && !slices.ContainsFunc(x.m.all, func(t *aslState) bool { return t.effect.Creates && inside(t, s.branches[0]) }) {
		x.at(SeverityWarning, "parallel-transitions", s, 0, "every item of the Map moves the order at the same time: their transitionIds are computed from the same data, so only one of them wins")
	}
}

// findMissingEnds reports terminal states with which no execution ends well.
func (x *explorer) findMissingEnds() {
	for i, s := range x.order.states {
		if s.Terminal && !x.accepted[int16(i)] {
			x.add(Finding{Severity: SeverityError, Code: "terminal-state-not-accepted",
				Message: fmt.Sprintf("no path ends with the order known to be %s (%s), though the order can end there", s.State, s.Doc)})
		}
	}
}

// findEndlessPath reports the nearest node from which no end can be reached but by a
// failure that nobody plans for.
func (x *explorer) findEndlessPath() {
	into := make([][]int32, len(x.visits))
	for _, e := range x.edges {
		if !e.failure {
			into[e.to] = append(into[e.to], e.from)
		}
	}

	var queue []int32
	ends := make([]bool, len(x.visits))
	for i, v := range x.visits {
		if x.ends[int32(i)] || x.doomed(v.state) {
			ends[i] = true
			queue = append(queue, int32(i))
		}
	}

	for ; len(queue) > 0; queue = queue[1:] {
		for _, from := range into[queue[0]] {
			if !ends[from] {
				ends[from] = true
				queue = append(queue, from)
			}
		}
	}

	for i, v := range x.visits {
		if !ends[i] {
			x.current = int32(i)
			x.report(SeverityError, "endless-path", v.state, "from here on no end can be reached but by a failure: the execution goes round in circles")
			return // what follows or precedes would say the same
		}
	}
}

// doomed reports whether an error about the state has been reported that explains
// why nothing goes on from there.
func (x *explorer) doomed(s *aslState) bool {
	for _, code := range []string{"illegal-event", "awaited-unreachable", "stale-order-data"} {
		if x.reported[code+" "+s.path()] {
			return true
		}
	}

	return false
}

// findUnusedEvents lists the events that no task applies.
func (x *explorer) findUnusedEvents() {
	used := map[workflow.Event]bool{}
	for _, s := range x.m.all {
		used[s.effect.Event] = true
		if s.effect.AnyEvent {
			return
		}
	}

	var others []string
	for _, e := range x.d.Events() {
		if !used[e] {
			others = append(others, string(e))
		}
	}

	if len(others) > 0 {
		x.add(Finding{Severity: SeverityInfo, Code: "events-from-outside", Message: "no task applies " + strings.Join(others, ", ") + "; they come from people, carriers and banks"})
	}
}
