package check

import (
	"cmp"
	"fmt"
	"slices"

	"ratchet/workflow"
)

// StateMachine reads Amazon States Language (JSON, or YAML as in SAM) and compares it with a definition.
// It explores the product of both graphs from the start of an execution, when there is no order: through
// Next, Choice, Retry and Catch, into Parallel and Map, and with events from outside between any two
// states. If no task of the state machine creates the order, an execution may start on an order in any
// state. A state machine that does nothing to orders is only linted.
//
// The error says that the config is wrong or that the text cannot be read, with file and
// line. Everything else is a finding.
//
// The exploration approximates on the safe side, within the caveats of the package. It follows the branches of
// a Parallel and the items of a Map one at a time: what the others do is among what other callers may do.
// Conditions on anything but the order's position may go either way, and a guard may hold or not.
func StateMachine(asl []byte, d *workflow.Definition, cfg Config) (Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Report{}, err
	}

	m, err := readASL(cfg.File, asl)
	if err != nil {
		return Report{}, err
	}

	c := &checker{
		cfg: cfg,
		m:   m,
		d:   d,
	}
	// The tasks are read before the lint, which needs to know the activities.
	touched := c.readTasks()
	c.lintMachine()

	report := Report{
		File:     cfg.File,
		States:   len(m.all),
		Possible: map[string][]workflow.State{},
	}

	switch {
	case c.broken():
		// Paths of a graph with loose ends mean nothing.
	case !touched:
		c.add(Finding{
			Severity: SeverityInfo,
			Code:     "no-order-tasks",
			Message:  "no task does anything to an order; only the state machine itself was checked",
		})
		c.estimate(&report)
	default:
		if err := c.explore(&report); err != nil {
			return Report{}, fmt.Errorf("%s: %w", cfg.File, err)
		}
		c.estimate(&report)
	}

	report.Findings = sorted(c.findings)

	return report, nil
}

// sorted sorts findings: errors first, then by line.
func sorted(findings []Finding) []Finding {
	rank := map[Severity]int{SeverityError: 0, SeverityWarning: 1, SeverityInfo: 2}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(rank[a.Severity], rank[b.Severity]),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Code, b.Code),
		)
	})

	return findings
}

// checker collects findings about one state machine and one definition.
type checker struct {
	cfg      Config
	m        *aslMachine
	d        *workflow.Definition
	findings []Finding
}

func (c *checker) add(f Finding) { c.findings = append(c.findings, f) }

// at adds a finding about a state. Line 0 stands for the line of the state.
func (c *checker) at(sev Severity, code string, s *aslState, line int, format string, args ...any) {
	c.add(Finding{
		Severity: sev,
		Code:     code,
		State:    s.path(),
		Line:     cmp.Or(line, s.line),
		Message:  fmt.Sprintf(format, args...),
	})
}

// readTasks finds out what each Task does and reports whether any touches the order.
func (c *checker) readTasks() bool {
	touched := false
	for _, s := range c.m.all {
		if s.kind != "Task" {
			continue
		}

		var parameters map[string]any
		if s.parameters != nil {
			// Parameters that are no object, as a JSONata expression, are nil for the function.
			parameters, _ = s.parameters.Value().(map[string]any)
		}

		s.effect = c.cfg.Tasks.Effect(s.resource, parameters)
		if !s.effect.touchesOrder() {
			continue
		}

		touched = true

		// The scopes around the task touch the order, too: leaveScope asks for that.
		for sc := s.scope; sc != nil; sc = sc.outer() {
			sc.touchesOrder = true
		}

		c.checkEffect(s)
	}

	return touched
}

// checkEffect reports events and states that the definition does not have, and clears
// the effect of such a task.
func (c *checker) checkEffect(s *aslState) {
	e := &s.effect
	if e.Event != "" && !slices.Contains(c.d.Events(), e.Event) {
		hint := ""
		if e.Event == c.d.Place() {
			hint = "; it creates orders, and no transition may use it"
		}

		c.at(SeverityError, "unknown-event", s, 0, "the task applies event %q, which %s version %d does not have%s",
			e.Event, c.d.Name(), c.d.Version(), hint)
		// Without its event the task does nothing, and gets no further findings.
		*e = Effect{Activity: e.Activity}
	}

	if e.Awaits != "" && !c.d.HasState(e.Awaits) {
		c.at(SeverityError, "unknown-awaited-state", s, 0, "the task awaits %q, which is not a state of %s version %d",
			e.Awaits, c.d.Name(), c.d.Version())
		*e = Effect{Activity: e.Activity, Parks: e.Parks}
	}

	if e.AnyEvent {
		c.at(SeverityInfo, "dynamic-event", s, 0, "the data names the event, so any may be applied here")
	}
}

// broken reports whether the graph has loose ends, or tasks that do what no order knows.
func (c *checker) broken() bool {
	loose := []string{"unknown-event", "unknown-awaited-state", "missing-start", "missing-target", "missing-next", "next-and-end", "unknown-type", "empty-choice", "empty-branches"}

	return slices.ContainsFunc(c.findings, func(f Finding) bool { return slices.Contains(loose, f.Code) })
}
