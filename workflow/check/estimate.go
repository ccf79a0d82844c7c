package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// What Step Functions counts and asks for, Standard workflows.
// https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html and
// https://aws.amazon.com/step-functions/pricing/ (us-east-1).
const (
	historyLimit         = 25_000
	dollarsPerTransition = 0.025 / 1000
)

// weight is what a state or a path uses.
type weight struct{ transitions, events, seconds float64 }

func (w weight) plus(o weight) weight {
	return weight{w.transitions + o.transitions, w.events + o.events, w.seconds + o.seconds}
}

func (w weight) times(n float64) weight {
	return weight{w.transitions * n, w.events * n, w.seconds * n}
}

// larger takes the larger of each.
func (w weight) larger(o weight) weight {
	return weight{max(w.transitions, o.transitions), max(w.events, o.events), max(w.seconds, o.seconds)}
}

// estimate rounds. Absurd machines are cut off at a quadrillion, so that every number
// stays one in JSON.
func (w weight) estimate() Estimate {
	const most = 1e15
	w = weight{min(w.transitions, most), min(w.events, most), min(w.seconds, most)}
	return Estimate{Transitions: int64(w.transitions), HistoryEvents: int64(w.events),
		Dollars: math.Round(w.transitions*dollarsPerTransition*1e9) / 1e9, Seconds: w.seconds}
}

// visitEvents are the history events of one visit without retries and without what
// is inside: entered and exited, and for a Task scheduled, started and succeeded.
func (s *aslState) visitEvents() float64 {
	switch s.kind {
	case "Fail":
		return 1
	case "Task":
		if strings.HasSuffix(s.resource, ".waitForTaskToken") || strings.Contains(s.resource, ".sync") {
			return 6 // submitted, too
		}
		return 5
	case "Parallel", "Map":
		return 4 // started and succeeded
	}

	return 2
}

// tries is how often the state can be tried, and how long the pauses between take.
func (s *aslState) tries() (n, pauses float64) {
	n = 1
	for _, r := range s.retry {
		if r.attempts < 0 || r.interval < 0 {
			continue // reported as bad-retry
		}

		n += float64(r.attempts)
		pause := float64(r.interval)
		for i := int64(0); i < r.attempts; i++ {
			if r.maxDelay > 0 && pause >= float64(r.maxDelay) {
				pauses += float64(r.maxDelay) * float64(r.attempts-i)
				break
			}

			if r.backoff <= 1 {
				pauses += pause * float64(r.attempts)
				break
			}

			pauses += pause
			if pause *= r.backoff; math.IsInf(pauses, 0) || i > 10_000 {
				return n, math.Inf(1)
			}
		}
	}

	return n, pauses
}

// measure computes a state's weight. worst uses every retry up; fewest counts a Map
// as empty.
func (s *aslState) measure(worst, fewest bool) weight {
	w := weight{transitions: 1, events: s.visitEvents(), seconds: s.wait}
	n, pauses := 1.0, 0.0
	if worst {
		n, pauses = s.tries()
	}

	if s.kind == "Task" {
		limit := float64(noTimeout)
		if s.timeout.set && !s.timeout.dynamic {
			limit = float64(s.timeout.seconds)
		}
		w.transitions = n
		w.events += 3 * (n - 1) // scheduled, started and timed out or failed
		w.seconds = n*limit + pauses

		return w
	}

	for _, b := range s.branches {
		if s.kind == "Map" && fewest {
			continue
		}

		inner := b.longest(worst)
		if fewest {
			inner = b.shortest()
		}

		if s.kind == "Map" {
			inner.events += 2 // iteration started and succeeded
			if s.distributed {
				inner.events = 2 // the items run in executions of their own
			}
		}
		seconds := max(w.seconds, inner.seconds) // branches run side by side
		w = w.plus(inner)
		w.seconds = seconds
	}

	if worst && len(s.branches) > 0 {
		w = w.times(n)
		w.seconds += pauses
	}

	return w
}

// out lists where the state leads inside its scope; planned leaves Catch out.
func (s *aslState) out(planned bool) []*aslState {
	var to []*aslState
	s.targets(func(next string, _ int, what string) {
		if t := s.scope.byName[next]; t != nil && !(planned && what == "Catch") && !slices.Contains(to, t) {
			to = append(to, t)
		}
	})

	return to
}

// shortest is the path with the fewest history events that ends well: without any
// error if there is one, else with errors, else one that fails.
func (sc *aslScope) shortest() weight {
	if sc.least == nil {
		w, well := sc.nearest(true)
		if !well {
			w, _ = sc.nearest(false)
		}
		sc.least = &w
	}

	return *sc.least
}

// nearest finds the nearest end and tells whether it is a good one.
func (sc *aslScope) nearest(planned bool) (w weight, well bool) {
	start := sc.byName[sc.startAt]
	best := map[*aslState]weight{start: {}}
	ended := false
	for queue := []*aslState{start}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		after := best[s].plus(s.measure(false, true))
		good := s.end || s.kind == "Succeed"
		if (good && !well) || (good == well && (good || s.kind == "Fail") && (!ended || after.events < w.events)) {
			w, well, ended = after, good, true
		}

		for _, t := range s.out(planned) {
			if old, seen := best[t]; !seen || after.events < old.events {
				best[t] = after
				queue = append(queue, t)
			}
		}
	}

	return w, well
}

// longest is an upper bound of a path that visits each state at most once: states
// of a loop are counted together, then the loops form a graph without loops.
func (sc *aslScope) longest(worst bool) weight {
	if sc.most[worst] == nil {
		w := sc.furthest(worst)
		sc.most[worst] = &w
	}

	return *sc.most[worst]
}

func (sc *aslScope) furthest(worst bool) weight {
	loops := sc.loops()
	done := map[int]weight{}

	in := map[*aslState]int{}
	for i, loop := range loops {
		for _, s := range loop {
			in[s] = i
		}
	}
	// Tarjan yields a loop after every loop that it leads to.
	for i, loop := range loops {
		var w, next weight
		for _, s := range loop {
			w = w.plus(s.measure(worst, false))
			for _, t := range s.out(false) {
				if in[t] != i {
					next = next.larger(done[in[t]])
				}
			}
		}
		done[i] = w.plus(next)
	}

	if start := sc.byName[sc.startAt]; start != nil {
		return done[in[start]]
	}

	return weight{}
}

// loops are the strongly connected parts of the scope's graph (Tarjan), a state
// without a loop being a part of its own.
func (sc *aslScope) loops() [][]*aslState {
	index, low := map[*aslState]int{}, map[*aslState]int{}
	on := map[*aslState]bool{}
	var stack []*aslState
	var loops [][]*aslState

	var visit func(s *aslState)
	visit = func(s *aslState) {
		index[s] = len(index) + 1

		low[s] = index[s]
		stack = append(stack, s)
		on[s] = true
		for _, t := range s.out(false) {
			if index[t] == 0 {
				visit(t)
				low[s] = min(low[s], low[t])
			} else if on[t] {
				low[s] = min(low[s], index[t])
			}
		}

		if low[s] != index[s] {
			return
		}

		at := len(stack) - 1
		for stack[at] != s {
			at--
		}
		loop := slices.Clone(stack[at:])
		stack = stack[:at]

		for _, t := range loop {
			on[t] = false
		}
		loops = append(loops, loop)
	}
	for _, s := range sc.states {
		if index[s] == 0 {
			visit(s)
		}
	}

	return loops
}

// estimate fills the report's estimates and reports limits that they pass.
func (c *checker) estimate(r *Report) {
	around := weight{events: 2} // execution started and succeeded

	shortest := c.m.top.shortest()
	shortest.seconds = 0
	longest, worst := c.m.top.longest(false), c.m.top.longest(true)
	if c.m.timeout > 0 {
		longest.seconds, worst.seconds = min(longest.seconds, float64(c.m.timeout)), min(worst.seconds, float64(c.m.timeout))
	}

	r.Shortest, r.Longest, r.Worst = shortest.plus(around).estimate(), longest.plus(around).estimate(), worst.plus(around).estimate()
	switch {
	case longest.events+2 > historyLimit:
		c.add(Finding{Severity: SeverityError, Code: "history-limit", Message: fmt.Sprintf("the longest path has %d history events without any retry; an execution ends at 25,000", r.Longest.HistoryEvents)})
	case worst.events+2 > historyLimit:
		c.add(Finding{Severity: SeverityWarning, Code: "history-limit", Message: fmt.Sprintf("with every retry used up the longest path has %d history events; an execution ends at 25,000", r.Worst.HistoryEvents)})
	}
	c.estimateLoops(c.m.top)

	for _, s := range c.m.all {
		if w := s.measure(true, false); s.kind == "Task" && s.timeout.set && !s.timeout.dynamic && c.m.timeout > 0 && w.seconds > float64(c.m.timeout) {
			n, _ := s.tries()
			c.at(SeverityInfo, "retries-outlast-execution", s, 0, "%.0f tries may take %.0f s; the execution ends after %d s", n, w.seconds, c.m.timeout)
		}
	}
}

// estimateLoops says how often each loop can turn before the history is full.
func (c *checker) estimateLoops(sc *aslScope) {
	for _, loop := range sc.loops() {
		if len(loop) == 1 && !slices.Contains(loop[0].out(false), loop[0]) {
			continue
		}

		turn := shortestTurn(loop)
		const most = 12
		var names []string
		for _, s := range loop[:min(len(loop), most)] {
			names = append(names, s.name)
		}

		if len(loop) > most {
			names = append(names, "...")
		}

		sev, note := SeverityInfo, "every turn needs an error that a Catch takes"
		if planned(loop) {
			sev, note = SeverityWarning, "no error is needed for a turn; let the loop end, or go on in a new execution"
		}
		c.at(sev, "loop", loop[0], 0, "%d states form a loop (%s): the shortest turn takes %d history events, so %d turns fit into 25,000; %s",
			len(loop), strings.Join(names, ", "), int(turn), int(historyLimit/turn), note)
	}

	for _, s := range sc.states {
		for _, b := range s.branches {
			c.estimateLoops(b)
		}
	}
}

// shortestTurn is the fewest events with which the loop's first state comes back to
// itself. A way back never leaves the loop.
func shortestTurn(loop []*aslState) float64 {
	in, goal, turn := set(loop), loop[0], math.Inf(1)
	best := map[*aslState]float64{goal: 0}
	for queue := []*aslState{goal}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		cost := best[from] + from.measure(false, true).events
		for _, to := range from.out(false) {
			if to == goal {
				turn = min(turn, cost)
				continue
			}

			if old, seen := best[to]; in[to] && (!seen || cost < old) {
				best[to] = cost
				queue = append(queue, to)
			}
		}
	}

	return turn
}

// planned reports whether the loop turns without any Catch.
func planned(loop []*aslState) bool {
	const open, done = 1, 2
	in, mark := set(loop), map[*aslState]int{}
	var turns func(s *aslState) bool
	turns = func(s *aslState) bool {
		mark[s] = open
		defer func() { mark[s] = done }()

		return slices.ContainsFunc(s.out(true), func(t *aslState) bool {
			return in[t] && (mark[t] == open || (mark[t] == 0 && turns(t)))
		})
	}

	return slices.ContainsFunc(loop, func(s *aslState) bool { return mark[s] == 0 && turns(s) })
}

func set(loop []*aslState) map[*aslState]bool {
	in := make(map[*aslState]bool, len(loop))
	for _, s := range loop {
		in[s] = true
	}

	return in
}
