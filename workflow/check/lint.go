package check

import (
	"slices"
	"strings"

	"ratchet/workflow"
)

// kinds are the state types, and whether a state of the type goes on by Next or End.
var kinds = map[string]bool{"Task": true, "Pass": true, "Wait": true, "Parallel": true, "Map": true,
	"Choice": false, "Succeed": false, "Fail": false}

// lintMachine checks the language itself: nothing here knows about orders.
func (c *checker) lintMachine() {
	for _, m := range c.m.unknown {
		c.add(Finding{Severity: SeverityWarning, Code: "unknown-field", Line: m.Line, Message: "the language has no field " + m.Name + " at the top"})
	}
	c.lintScope(c.m.top)

	seen := map[string]*aslState{}
	for _, s := range c.m.all {
		if first, dup := seen[s.name]; dup {
			c.at(SeverityError, "duplicate-state", s, 0, "the name is taken by %s in line %d; names are unique in the whole machine", first.path(), first.line)
		}
		seen[s.name] = s
		c.lintState(s)

		if s.kind == "Task" {
			c.lintClocks(s)
		}

		if s.kind == "Choice" {
			c.lintChoice(s)
		}
		c.lintErrors(s)
	}

	if c.m.timeout == 0 && slices.ContainsFunc(c.m.all, (*aslState).activity) {
		c.add(Finding{Severity: SeverityWarning, Code: "missing-execution-timeout", Message: "the machine has no TimeoutSeconds: the clocks of an activity begin when a worker takes it, so only this one ends an execution for which no worker polls"})
	}
}

// targets calls fn for every way out of the state inside its scope.
func (s *aslState) targets(fn func(next string, line int, what string)) {
	if s.next != "" {
		fn(s.next, s.line, "Next")
	}

	for _, r := range s.rules {
		fn(r.next, r.line, "Choices")
	}

	if s.hasDefault {
		fn(s.defaults, s.line, "Default")
	}

	for _, k := range s.catch {
		fn(k.next, k.line, "Catch")
	}
}

// lintScope checks that the graph hangs together.
func (c *checker) lintScope(sc *aslScope) {
	loose := func(line int, format string, args ...any) {
		s := sc.parent
		if s == nil {
			s = &aslState{scope: sc}
		}
		c.at(SeverityError, "missing-start", s, line, format, args...)
	}
	start := sc.byName[sc.startAt]
	switch {
	case sc.startAt == "":
		loose(sc.line, "there is no StartAt")
	case start == nil:
		loose(sc.line, "StartAt is %q, which is not a state here", sc.startAt)
	}
	reached := map[*aslState]bool{}
	var visit func(s *aslState)
	visit = func(s *aslState) {
		if s == nil || reached[s] {
			return
		}
		reached[s] = true
		s.targets(func(next string, _ int, _ string) { visit(sc.byName[next]) })
	}
	visit(start)

	for _, s := range sc.states {
		s.targets(func(next string, line int, what string) {
			if sc.byName[next] == nil {
				c.at(SeverityError, "missing-target", s, line, "%s leads to %q, which is not a state here", what, next)
			}
		})

		if start != nil && !reached[s] {
			c.at(SeverityError, "unreachable-state", s, 0, "nothing leads here from %s", sc.startAt)
		}

		for _, b := range s.branches {
			c.lintScope(b)
		}
	}
	c.lintEnds(sc, reached)
}

// lintEnds reports states from which the scope cannot end.
func (c *checker) lintEnds(sc *aslScope, reached map[*aslState]bool) {
	ends := map[*aslState]bool{}
	for grown := true; grown; {
		grown = false
		for _, s := range slices.Backward(sc.states) { // ends tend to be last: one round is then enough
			if ends[s] {
				continue
			}
			done := s.end || s.kind == "Succeed" || s.kind == "Fail"
			s.targets(func(next string, _ int, _ string) { done = done || ends[sc.byName[next]] })

			if done {
				ends[s], grown = true, true
			}
		}
	}

	for _, s := range sc.states {
		if reached[s] && !ends[s] {
			c.at(SeverityError, "no-path-to-end", s, 0, "no way leads from here to an end")
			return // the others in the loop say the same
		}
	}
}

func (c *checker) lintState(s *aslState) {
	goesOn, known := kinds[s.kind]
	switch {
	case !known:
		c.at(SeverityError, "unknown-type", s, 0, "Type %q is not one of Task, Pass, Wait, Choice, Parallel, Map, Succeed, Fail", s.kind)
		return
	case goesOn && s.next == "" && !s.end:
		c.at(SeverityError, "missing-next", s, 0, "a %s needs Next or End", s.kind)
	case goesOn && s.next != "" && s.end:
		c.at(SeverityError, "next-and-end", s, 0, "Next and End exclude each other")
	case !goesOn && (s.next != "" || s.end):
		c.at(SeverityError, "next-and-end", s, 0, "a %s has neither Next nor End", s.kind)
	case s.kind == "Task" && s.resource == "":
		c.at(SeverityError, "missing-resource", s, 0, "the Task has no Resource")
	case (s.kind == "Parallel" || s.kind == "Map") && len(s.branches) == 0:
		c.at(SeverityError, "empty-branches", s, 0, "the %s has nothing to run", s.kind)
	}

	for _, m := range s.unknown {
		c.at(SeverityWarning, "unknown-field", s, m.Line, "the language has no field %s; it is ignored or refused", m.Name)
	}
}

// lintClocks checks what ends a Task whose worker never answers.
func (c *checker) lintClocks(s *aslState) {
	t, h := s.timeout, s.heartbeat
	job := s.activity() || strings.HasSuffix(s.resource, ".sync") || strings.HasSuffix(s.resource, ".sync:2")
	if t.set && !t.dynamic && (t.seconds < 1 || t.seconds > noTimeout) {
		c.at(SeverityError, "bad-timeout", s, 0, "TimeoutSeconds is %d; it must be 1 to 99,999,999", t.seconds)
	}

	if h.set && !h.dynamic && h.seconds < 1 {
		c.at(SeverityError, "bad-timeout", s, 0, "HeartbeatSeconds is %d; it must be at least 1", h.seconds)
	}

	if !t.set {
		switch {
		case s.activity():
			c.at(SeverityError, "missing-timeout", s, 0, "no TimeoutSeconds: a token lost on the wire hangs the execution for the default of 99,999,999 seconds, three years")
		case job:
			c.at(SeverityWarning, "missing-timeout", s, 0, "no TimeoutSeconds: a job that never ends holds the execution for the default of 99,999,999 seconds, three years")
		default:
			c.at(SeverityInfo, "missing-timeout", s, 0, "no TimeoutSeconds: the default is 99,999,999 seconds; the called service's own limit is what ends the call")
		}
	}

	if h.set && t.set && !h.dynamic && !t.dynamic && h.seconds >= t.seconds {
		c.at(SeverityError, "heartbeat-too-long", s, 0, "HeartbeatSeconds %d is not shorter than TimeoutSeconds %d", h.seconds, t.seconds)
	}

	if !h.set && s.activity() {
		c.lintHeartbeat(s)
	}
}

// lintHeartbeat judges an activity without HeartbeatSeconds. A parked task has
// nobody who beats; it then needs an end of its own and another try after that.
func (c *checker) lintHeartbeat(s *aslState) {
	again := slices.ContainsFunc(s.retry, func(r aslRetry) bool {
		return r.attempts > 0 && (slices.Contains(r.errors, "States.Timeout") || slices.Contains(r.errors, "States.ALL"))
	}) || slices.ContainsFunc(s.catch, func(k aslCatch) bool {
		return slices.Contains(k.errors, "States.Timeout") && leadsTo(s.scope.byName[k.next], s, map[*aslState]bool{})
	})
	switch {
	case !s.effect.Parks && !strings.HasSuffix(s.resource, ".waitForTaskToken"):
		c.at(SeverityError, "missing-heartbeat", s, 0, "no HeartbeatSeconds: a lost task is noticed only when TimeoutSeconds is over")
	case s.timeout.set && again:
		c.at(SeverityInfo, "parked-without-heartbeat", s, 0, "no HeartbeatSeconds, as nobody beats for a parked task; allowed, because its time-out ends a lost one, and Retry or Catch on States.Timeout starts it again")
	default:
		c.at(SeverityError, "missing-heartbeat", s, 0, "no HeartbeatSeconds: a parked task may go without when its time-out ends a lost one and Retry or Catch on States.Timeout starts it again")
	}
}

// leadsTo reports whether the goal can be reached without any further error.
func leadsTo(from, goal *aslState, seen map[*aslState]bool) bool {
	if from == nil || seen[from] {
		return false
	}
	seen[from] = true

	return from == goal || slices.ContainsFunc(from.out(true), func(t *aslState) bool { return leadsTo(t, goal, seen) })
}

// lintChoice checks a Choice for rules about states that no order has.
func (c *checker) lintChoice(s *aslState) {
	if len(s.rules) == 0 {
		c.at(SeverityError, "empty-choice", s, 0, "a Choice needs at least one rule")
	}

	for _, r := range s.rules {
		r.cond.walk(func(p *condition) {
			if p.variable == c.cfg.Variable && p.op == "StringEquals" && !c.d.HasState(workflow.State(p.operand)) {
				c.at(SeverityError, "unknown-order-state", s, p.line, "the rule compares %s with %q, which is not a state of %s version %d: it never applies",
					p.variable, p.operand, c.d.Name(), c.d.Version())
			}
		})
	}
}
