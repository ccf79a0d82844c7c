package check

import (
	"fmt"
	"slices"
	"strings"

	"ratchet/workflow"
)

// addFindings adds the findings that need the whole explored product.
func (x *explorer) addFindings() {
	byState := map[*aslState][]int32{}
	for i, v := range x.visits {
		byState[v.state] = append(byState[v.state], int32(i))
	}

	for _, s := range x.m.all {
		// Findings about a task would only repeat that no order comes to it.
		if len(byState[s]) == 0 {
			x.findDeadState(s)
			continue
		}

		x.findRefusedTask(s, byState[s])
		x.findDeadRules(s)
		x.findParallelMoves(s)
	}

	x.findUnnoticedTime(byState)

	x.findMissingEnds()
	x.findEndlessPath()
	x.findBusyLoop()
	x.findDeadEnds()
	x.findUnusedEvents()
}

// findDeadState reports a state to which the graph has a way, but no order comes.
func (x *explorer) findDeadState(s *aslState) {
	// A path that was not followed may lead here.
	if x.faulty {
		return
	}

	unlinked := func(f Finding) bool { return f.Code == "unreachable-state" && f.State == s.path() }
	if slices.ContainsFunc(x.findings, unlinked) {
		return
	}

	x.at(SeverityWarning, "dead-state", s, 0, "no order ever comes here: the rules and events that lead here cannot happen")
}

// findRefusedTask reports a transition or a wait that can never succeed, or from which
// states it is refused.
func (x *explorer) findRefusedTask(s *aslState, visits []int32) {
	e := s.effect
	if !e.moves() && e.Awaits == "" {
		return
	}

	// On some path, nothing is known of the task.
	for _, code := range []string{"event-before-creation", "lost-position", "missing-data"} {
		if x.reported[code+" "+s.path()] {
			return
		}
	}

	var here []string // states of the order
	for _, i := range visits {
		here = appendNew(here, string(x.order.name(x.visits[i].actual)))
	}

	record := x.record(s)
	// The path of the finding leads to the first visit.
	x.current = visits[0]
	switch {
	case !record.succeeds && e.Awaits != "":
		x.report(SeverityError, "awaited-unreachable", s,
			"the task waits for %s, but the order can only be %s here and never gets there",
			e.Awaits, strings.Join(here, ", "))
	case !record.succeeds && !record.fresh:
		x.report(SeverityError, "stale-order-data", s,
			"the data is out of date on every path: the order has moved, no state wrote its position to $.%s, and event %s is refused again",
			strings.Join(x.base, "."), e.Event)
	case !record.succeeds:
		x.report(SeverityError, "illegal-event", s,
			"event %s is legal from %s, but the order can only be %s here",
			e.Event, joinStates(x.d.Sources(e.Event)), strings.Join(here, ", "))
	case len(record.refused) > 0:
		x.at(SeverityInfo, "event-may-be-refused", s, 0,
			"the order may be %s here, where event %s is refused; a Catch takes it",
			strings.Join(record.refused, ", "), e.Event)
	case len(record.guarded) > 0:
		x.at(SeverityInfo, "event-may-be-refused", s, 0,
			"the order may be %s here, where a guard decides whether event %s is refused; a Catch takes it",
			strings.Join(record.guarded, ", "), e.Event)
	}
}

func joinStates(states []workflow.State) string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}

	return strings.Join(names, ", ")
}

// findDeadRules reports rules about the order that never apply. A rule that names an
// unknown state has a finding already.
func (x *explorer) findDeadRules(s *aslState) {
	for i, r := range s.rules {
		// A condition on anything else may go either way, so it cannot be dead.
		if x.faulty || x.appliedRules[s][i] || s.jsonata || !r.cond.onlyAbout(x.cfg.Variable) {
			continue
		}

		unknown := false
		r.cond.walk(func(c *condition) {
			unknown = unknown || (c.op == "StringEquals" && !x.d.HasState(workflow.State(c.operand)))
		})

		if !unknown {
			x.at(SeverityWarning, "dead-choice-rule", s, r.line,
				"rule %d never applies: no order comes here in such a state, or an earlier rule takes it", i+1)
		}
	}
}

// findParallelMoves reports branches and items that move one order at the same time.
func (x *explorer) findParallelMoves(s *aslState) {
	anyInside := func(b *aslScope, fits func(Effect) bool) bool {
		return slices.ContainsFunc(x.m.all, func(t *aslState) bool { return fits(t.effect) && inside(t, b) })
	}

	moving := 0
	for _, b := range s.branches {
		if anyInside(b, Effect.moves) {
			moving++
		}
	}

	if moving > 1 {
		x.at(SeverityWarning, "parallel-transitions", s, 0,
			"%d branches move the order at the same time: their transitionIds are computed from the same data, so only one of them wins", moving)
	}

	// A Map that creates orders moves another order in each item.
	creates := func(e Effect) bool { return e.Creates }
	if s.kind == "Map" && moving > 0 && !anyInside(s.branches[0], creates) {
		x.at(SeverityWarning, "parallel-transitions", s, 0,
			"every item of the Map moves the order at the same time: their transitionIds are computed from the same data, so only one of them wins")
	}
}

// findMissingEnds reports terminal states of the order with which no execution ends well.
func (x *explorer) findMissingEnds() {
	for i, s := range x.order.states {
		if !s.Terminal || x.accepted[int16(i)] || x.faulty {
			continue
		}

		x.add(Finding{
			Severity: SeverityError,
			Code:     "terminal-state-not-accepted",
			Message:  fmt.Sprintf("no path ends with the order known to be %s (%s), though the order can end there", s.State, s.Doc),
		})
	}
}

// findEndlessPath reports the nearest visit from which no end can be reached except by an
// unplanned failure.
func (x *explorer) findEndlessPath() {
	ending := x.endingVisits()
	for i, v := range x.visits {
		if ending[i] {
			continue
		}

		x.current = int32(i)
		x.report(SeverityError, "endless-path", v.state,
			"from here on no end can be reached but by a failure: the execution goes round in circles")

		// The other visits of the loop would say the same.
		return
	}
}

// endingVisits marks the visits from which an end can be reached without a failure. It
// follows the edges backwards from every end.
func (x *explorer) endingVisits() []bool {
	into := make([][]int32, len(x.visits))
	for _, e := range x.edges {
		if !e.failure {
			into[e.to] = append(into[e.to], e.from)
		}
	}

	var queue []int32
	ending := make([]bool, len(x.visits))
	for i, v := range x.visits {
		// A finding explains this state already, so the search treats it as an end.
		if x.ends[int32(i)] || x.hasFatalFinding(v.state) {
			ending[i] = true
			queue = append(queue, int32(i))
		}
	}

	for ; len(queue) > 0; queue = queue[1:] {
		for _, from := range into[queue[0]] {
			if !ending[from] {
				ending[from] = true
				queue = append(queue, from)
			}
		}
	}

	return ending
}

// hasFatalFinding reports whether a finding already explains why nothing goes on from the state.
func (x *explorer) hasFatalFinding(s *aslState) bool {
	for _, code := range []string{"illegal-event", "awaited-unreachable", "stale-order-data", "lost-position", "missing-data"} {
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
		if s.effect.AnyEvent {
			// The data may name any event, so none is certainly unused.
			return
		}

		used[s.effect.Event] = true
	}

	var others []string
	for _, e := range x.d.Events() {
		if !used[e] {
			others = append(others, string(e))
		}
	}

	if len(others) == 0 {
		return
	}

	message := "no task applies " + strings.Join(others, ", ") + "; they come from people, carriers and banks"
	if timed := x.order.timedEvents(others); len(timed) > 0 {
		message += ", and " + strings.Join(timed, ", ") + " from time, too"
	}
	x.add(Finding{Severity: SeverityInfo, Code: "events-from-outside", Message: message})
}
