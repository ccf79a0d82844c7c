package check

import (
	"slices"
	"strings"
)

// findUnnoticedTime reports states in which an execution waits while time moves the order, and does not notice: a
// task still waits for a state that can be reached, a token is answered by other news only, or the execution
// ends after a Wait without having looked at the order.
func (x *explorer) findUnnoticedTime(byState map[*aslState][]int32) {
	// Without timers, nothing happens by time.
	if !slices.ContainsFunc(x.byTime, func(moves []outsideMove) bool { return len(moves) > 0 }) {
		return
	}

	blind := x.blindVisits()
	for _, s := range x.m.all {
		// The visits are in the order of the search, so the first one has the shortest path.
		for _, i := range byState[s] {
			x.findUnnoticedMoves(s, i, blind[i])
		}
	}
}

// findUnnoticedMoves reports a visit of a state that waits. blind says that the execution can end from there
// without a task that touches the order.
func (x *explorer) findUnnoticedMoves(s *aslState, i int32, blind bool) {
	from := x.visits[i].actual
	if from < 0 {
		return
	}

	for _, m := range x.byTime[from] {
		consequence := x.unnoticed(s, m, blind)
		if m.to == from || consequence == "" {
			continue
		}

		x.current = i
		x.report(SeverityWarning, "time-unnoticed", s, "while the execution waits here, %s and the order is %s: %s",
			m.how, x.order.name(m.to), consequence)

		return
	}
}

// unnoticed says what an execution does that waits in a state while time moves the order, "" if it notices.
func (x *explorer) unnoticed(s *aslState, m outsideMove, blind bool) string {
	e := s.effect

	switch {
	case e.Awaits != "":
		awaited := x.order.index[e.Awaits]
		// The task is refused if the order cannot come to the awaited state any more.
		if m.to == awaited || !x.order.reachable(m.to, awaited) {
			return ""
		}

		return "the task waits on, because " + string(e.Awaits) + " can still be reached"
	case e.touchesOrder():
		return ""
	case e.Parks, strings.HasSuffix(s.resource, ".waitForTaskToken"):
		return "nothing answers the task's token because of it"
	case s.waits && blind:
		return "it ends without a task that looks where the order is"
	}

	return ""
}

// blindVisits marks the visits from which an execution can end, without a failure, before a task touches the order.
// The search follows the edges backwards from every end.
func (x *explorer) blindVisits() []bool {
	into := make([][]int32, len(x.visits))
	for _, e := range x.edges {
		if !e.failure {
			into[e.to] = append(into[e.to], e.from)
		}
	}

	var queue []int32
	blind := make([]bool, len(x.visits))
	mark := func(i int32) {
		if !blind[i] && !x.visits[i].state.effect.touchesOrder() {
			blind[i] = true
			queue = append(queue, i)
		}
	}

	for i := range x.ends {
		mark(i)
	}

	for ; len(queue) > 0; queue = queue[1:] {
		for _, from := range into[queue[0]] {
			mark(from)
		}
	}

	return blind
}
