package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ratchet/workflow/plan"
)

// usage is the usage of a state or a path.
type usage struct{ transitions, events, seconds float64 }

func (u usage) plus(o usage) usage {
	return usage{u.transitions + o.transitions, u.events + o.events, u.seconds + o.seconds}
}

func (u usage) times(n float64) usage {
	return usage{u.transitions * n, u.events * n, u.seconds * n}
}

// max returns the larger value of each field.
func (u usage) max(o usage) usage {
	return usage{max(u.transitions, o.transitions), max(u.events, o.events), max(u.seconds, o.seconds)}
}

// estimate rounds to an Estimate. It cuts every field off at 1e15, so that no state
// machine makes a number that JSON cannot carry.
func (u usage) estimate() Estimate {
	const most = 1e15
	transitions := min(u.transitions, most)

	return Estimate{
		Transitions:   int64(transitions),
		HistoryEvents: int64(min(u.events, most)),
		Dollars:       math.Round(transitions*plan.DollarsPerTransition*1e9) / 1e9,
		Seconds:       min(u.seconds, most),
	}
}

// visitEvents returns the history events of one visit without retries and without what is
// inside: entered and exited, and for a Task scheduled, started and succeeded.
func (s *aslState) visitEvents() float64 {
	switch s.kind {
	case "Fail":
		return 1
	case "Task":
		if strings.HasSuffix(s.resource, ".waitForTaskToken") || strings.Contains(s.resource, ".sync") {
			// Such a Task also has the event "submitted".
			return 6
		}

		return 5
	case "Parallel", "Map":
		// A Parallel or Map also has the events "started" and "succeeded".
		return 4
	}

	return 2
}

// attempts returns how many times the state can be tried, and the seconds of the pauses between the tries.
func (s *aslState) attempts() (n, pauses float64) {
	n = 1
	for _, r := range s.retry {
		if r.attempts < 0 || r.interval < 0 {
			// lintRetryNumbers reports these values (bad-retry).
			continue
		}

		n += float64(r.attempts)
		pauses += r.pauses()
	}

	return n, pauses
}

// pauses returns the seconds between the tries when all attempts are used up.
func (r aslRetry) pauses() float64 {
	sum, pause := 0.0, float64(r.interval)
	for i := int64(0); i < r.attempts; i++ {
		left := float64(r.attempts - i)

		// From here on every pause is the same, so the rest is a product.
		switch {
		case r.maxDelay > 0 && pause >= float64(r.maxDelay):
			return sum + float64(r.maxDelay)*left
		case r.backoff <= 1:
			return sum + pause*left
		// More than any execution can last.
		case i > 10_000 || math.IsInf(sum, 0):
			return math.Inf(1)
		}

		sum += pause
		pause *= r.backoff
	}

	return sum
}

// usage returns the usage of one visit of the state. worst uses up
// every retry; fewest counts a Map as empty.
func (s *aslState) usage(worst, fewest bool) usage {
	tries, pauses := 1.0, 0.0
	if worst {
		tries, pauses = s.attempts()
	}

	if s.kind == "Task" {
		// The language's default: without TimeoutSeconds a task may last this long.
		limit := float64(noTimeout)
		if s.timeout.constant() {
			limit = float64(s.timeout.seconds)
		}

		return usage{
			transitions: tries,
			events:      s.visitEvents() + 3*(tries-1), // each retry: scheduled, started and timed out or failed
			seconds:     tries*limit + pauses,
		}
	}

	u := usage{
		transitions: 1,
		events:      s.visitEvents(),
		seconds:     s.wait,
	}

	for _, b := range s.branches {
		if s.kind == "Map" && fewest {
			continue
		}

		seconds := u.seconds
		inner := s.branchUsage(b, worst, fewest)
		u = u.plus(inner)
		// Branches run side by side, so their times do not add up.
		u.seconds = max(seconds, inner.seconds)
	}

	if worst && len(s.branches) > 0 {
		u = u.times(tries)
		u.seconds += pauses
	}

	return u
}

// branchUsage returns what a branch of a Parallel or one item of a Map uses.
func (s *aslState) branchUsage(b *aslScope, worst, fewest bool) usage {
	u := b.longest(worst)
	if fewest {
		u = b.shortest()
	}

	switch {
	case s.kind == "Map" && s.distributed:
		// The items run in executions of their own.
		u.events = 2
	case s.kind == "Map":
		// Iteration started and succeeded.
		u.events += 2
	}

	return u
}

// estimate fills in the report's estimates and adds findings about limits.
func (c *checker) estimate(r *Report) {
	execution := usage{events: 2} // started and succeeded
	shortest := c.m.top.shortest().plus(execution)
	longest := c.m.top.longest(false).plus(execution)
	worst := c.m.top.longest(true).plus(execution)

	// The shortest path has no time: no wait needs to last.
	shortest.seconds = 0
	if timeout := float64(c.m.timeout); timeout > 0 {
		longest.seconds = min(longest.seconds, timeout)
		worst.seconds = min(worst.seconds, timeout)
	}

	r.Shortest, r.Longest, r.Worst = shortest.estimate(), longest.estimate(), worst.estimate()

	switch {
	case longest.events > plan.HistoryLimit:
		c.add(Finding{
			Severity: SeverityError,
			Code:     "history-limit",
			Message: fmt.Sprintf("the longest path has %d history events without any retry; an execution ends at 25,000",
				r.Longest.HistoryEvents),
		})
	case worst.events > plan.HistoryLimit:
		c.add(Finding{
			Severity: SeverityWarning,
			Code:     "history-limit",
			Message: fmt.Sprintf("with every retry used up the longest path has %d history events; an execution ends at 25,000",
				r.Worst.HistoryEvents),
		})
	}

	c.estimateLoops(c.m.top)
	c.compareTimeouts()
}

// compareTimeouts reports tasks whose retries can last longer than the execution.
func (c *checker) compareTimeouts() {
	for _, s := range c.m.all {
		if s.kind != "Task" || !s.timeout.constant() || c.m.timeout <= 0 {
			continue
		}

		// Only the bound of the whole execution ends such retries.
		if seconds := s.usage(true, false).seconds; seconds > float64(c.m.timeout) {
			tries, _ := s.attempts()
			c.at(SeverityInfo, "retries-outlast-execution", s, 0, "%.0f tries may take %.0f s; the execution ends after %d s",
				tries, seconds, c.m.timeout)
		}
	}
}

// estimateLoops reports how often each loop can turn before the history is full.
func (c *checker) estimateLoops(sc *aslScope) {
	for _, loop := range sc.components() {
		// A state that does not lead to itself is no loop.
		if len(loop) == 1 && !slices.Contains(loop[0].successors(false), loop[0]) {
			continue
		}

		c.reportLoop(loop)
	}

	for _, s := range sc.states {
		for _, b := range s.branches {
			c.estimateLoops(b)
		}
	}
}

func (c *checker) reportLoop(loop []*aslState) {
	const most = 12 // names in the message

	var names []string
	for _, s := range loop[:min(len(loop), most)] {
		names = append(names, s.name)
	}

	if len(loop) > most {
		names = append(names, "...")
	}

	sev, note := SeverityInfo, "every turn needs an error that a Catch takes"
	if turnsWithoutError(loop) {
		sev, note = SeverityWarning, "no error is needed for a turn; let the loop end, or go on in a new execution"
	}

	turn := shortestTurn(loop)
	c.at(sev, "loop", loop[0], 0,
		"%d states form a loop (%s): the shortest turn takes %d history events, so %d turns fit into 25,000; %s",
		len(loop), strings.Join(names, ", "), int(turn), int(plan.HistoryLimit/turn), note)
}
