package check

import (
	"slices"

	"ratchet/workflow"
)

// goesOn lists the types of states, and whether a state of the type goes on by Next or End.
var goesOn = map[string]bool{
	"Task":     true,
	"Pass":     true,
	"Wait":     true,
	"Parallel": true,
	"Map":      true,
	"Choice":   false,
	"Succeed":  false,
	"Fail":     false,
}

// lintMachine checks the language itself, without regard to orders.
func (c *checker) lintMachine() {
	for _, field := range c.m.unknown {
		c.add(Finding{
			Severity: SeverityWarning,
			Code:     "unknown-field",
			Line:     field.line,
			Message:  "the language has no field " + field.name + " at the top",
		})
	}

	c.lintScope(c.m.top)

	seen := map[string]*aslState{}
	// Names are unique in the whole machine, branches included.
	for _, s := range c.m.all {
		if first, dup := seen[s.name]; dup {
			c.at(SeverityError, "duplicate-state", s, 0, "the name is taken by %s in line %d; names are unique in the whole machine",
				first.path(), first.line)
		}
		seen[s.name] = s

		c.lintState(s)
		c.lintPaths(s)
		c.lintErrors(s)
		c.lintWait(s)
	}

	// The time-outs of an activity begin when a worker takes the task.
	if c.m.timeout == 0 && slices.ContainsFunc(c.m.all, (*aslState).isActivity) {
		c.add(Finding{
			Severity: SeverityInfo,
			Code:     "missing-execution-timeout",
			Message:  "the machine has no TimeoutSeconds: an execution for which no worker polls waits for one, up to a year. With one it would end wherever it is, and no Catch takes that",
		})
	}
}

// lintScope checks that every state of a scope can be reached, leads to states that
// exist, and can come to an end.
func (c *checker) lintScope(sc *aslScope) {
	around := sc.parent
	if around == nil {
		// The whole state machine has no state around it, so the findings get one without
		// a name and a line.
		around = &aslState{scope: sc}
	}

	start := sc.byName[sc.startAt]
	switch {
	case sc.startAt == "":
		c.at(SeverityError, "missing-start", around, sc.line, "there is no StartAt")
	case start == nil:
		c.at(SeverityError, "missing-start", around, sc.line, "StartAt is %q, which is not a state here", sc.startAt)
	}

	reached := sc.reachedFrom(start)
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

// reachedFrom returns the states that can be reached from a state, which may be nil.
func (sc *aslScope) reachedFrom(start *aslState) map[*aslState]bool {
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

	return reached
}

// lintEnds reports the first reachable state from which the scope cannot end. The other
// states of its loop would say the same.
func (c *checker) lintEnds(sc *aslScope, reached map[*aslState]bool) {
	ends := map[*aslState]bool{}
	for grown := true; grown; {
		grown = false

		// States that end tend to be last in a file, so one round backwards is usually enough.
		for _, s := range slices.Backward(sc.states) {
			if ends[s] {
				continue
			}

			reaches := s.end || s.kind == "Succeed" || s.kind == "Fail"
			s.targets(func(next string, _ int, _ string) { reaches = reaches || ends[sc.byName[next]] })

			if reaches {
				ends[s], grown = true, true
			}
		}
	}

	for _, s := range sc.states {
		if reached[s] && !ends[s] {
			c.at(SeverityError, "no-path-to-end", s, 0, "no way leads from here to an end")
			return
		}
	}
}

func (c *checker) lintState(s *aslState) {
	goesOn, known := goesOn[s.kind]
	switch {
	case !known:
		c.at(SeverityError, "unknown-type", s, 0, "Type %q is not one of Task, Pass, Wait, Choice, Parallel, Map, Succeed, Fail", s.kind)
		// Without a known type, the rules below mean nothing.
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

	for _, field := range s.unknown {
		c.at(SeverityWarning, "unknown-field", s, field.line, "the language has no field %s; it is ignored or refused", field.name)
	}

	switch s.kind {
	case "Task":
		c.lintTimeouts(s)
	case "Choice":
		c.lintChoice(s)
	}
}

// lintChoice reports a Choice without rules, and rules about states that no order has.
func (c *checker) lintChoice(s *aslState) {
	if len(s.rules) == 0 {
		c.at(SeverityError, "empty-choice", s, 0, "a Choice needs at least one rule")
	}

	for _, r := range s.rules {
		r.cond.walk(func(part *condition) {
			if part.variable != c.cfg.Variable || part.op != "StringEquals" || c.d.HasState(workflow.State(part.operand)) {
				return
			}

			c.at(SeverityError, "unknown-order-state", s, part.line,
				"the rule compares %s with %q, which is not a state of %s version %d: it never applies",
				part.variable, part.operand, c.d.Name(), c.d.Version())
		})
	}
}
