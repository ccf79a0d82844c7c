package workflow

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity grades a finding.
type Severity string

// The grades of a finding.
const (
	SeverityError   Severity = "error"   // wrong in production sooner or later; the check fails
	SeverityWarning Severity = "warning" // legal, and probably not meant
	SeverityInfo    Severity = "info"    // worth knowing
)

// Finding is one thing that the check has to say.
type Finding struct {
	Severity Severity `json:"severity"`
	// Code is stable, like "illegal-event"; docs and tests go by it.
	Code string `json:"code"`
	// State is the ASL state, nested ones as Outer/Inner; "" for the whole machine.
	State string `json:"state,omitempty"`
	// Line is where the file says it, 0 when it is not about a line.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	// Path is the shortest way there from the start of an execution, when the finding
	// is about a path.
	Path []Step `json:"path,omitempty"`
}

// Step is one ASL state on a path.
type Step struct {
	State string `json:"state"`
	// Order is where the execution believes the order to be when it enters the
	// state; "" before the order exists.
	Order State `json:"order,omitempty"`
	// Actual is where the order is when that differs: somebody moved it.
	Actual State `json:"actual,omitempty"`
	// How tells what led here from the step before.
	How string `json:"how,omitempty"`
}

// Estimate is what one execution uses.
type Estimate struct {
	// Transitions are what Step Functions bills, HistoryEvents what counts towards
	// the 25,000 of an execution.
	Transitions   int64 `json:"transitions"`
	HistoryEvents int64 `json:"historyEvents"`
	// Dollars is the price of the transitions at $0.025 per 1,000 (Standard, us-east-1).
	Dollars float64 `json:"dollars"`
	// Seconds is how long tasks, retries and waits may take at most, 0 for the
	// shortest path.
	Seconds float64 `json:"seconds"`
}

// Report is the outcome of [Check].
type Report struct {
	// File is the ASL's name from the options.
	File string `json:"file"`
	// States counts the ASL states, nested ones included; Explored the combinations
	// of ASL state and order state that an execution can be in.
	States   int `json:"states"`
	Explored int `json:"explored"`
	// Findings are sorted: errors first, then by line.
	Findings []Finding `json:"findings"`
	// Possible lists the order states with which an execution can enter each ASL
	// state; "" stands for an order that does not exist yet.
	Possible map[string][]State `json:"possible"`
	// Shortest is the path with the fewest events that ends well, Longest visits each
	// state at most once, Worst is Longest with every retry used up.
	Shortest Estimate `json:"shortest"`
	Longest  Estimate `json:"longest"`
	Worst    Estimate `json:"worst"`
}

// Count returns how many findings have the severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}

	return n
}

// checker collects findings about one machine and one definition.
type checker struct {
	opts     CheckOptions
	m        *aslMachine
	d        *Definition
	findings []Finding
}

// Check reads Amazon States Language (JSON, or YAML as SAM writes it) and compares
// it with the definition. It explores the product of both graphs from the start of
// an execution, when there is no order: through Next, Choice, Retry and Catch, into
// Parallel and Map, and with outside events between any two states. A machine
// without any task that creates the order is taken to start on one in any state; one
// that does nothing to orders is only linted.
//
// The error says that the text cannot be read, with file and line; everything else
// is a finding.
//
// Approximations, all on the safe side: the branches of a Parallel and the turns of
// a Map are followed one at a time, with the events of the others as outside events;
// conditions on anything but the order's state may go either way.
func Check(asl []byte, d *Definition, opts CheckOptions) (Report, error) {
	opts = opts.withDefaults(d)

	m, err := readASL(opts.File, asl)
	if err != nil {
		return Report{}, err
	}
	c := &checker{opts: opts, m: m, d: d}
	acts := c.readTasks()
	c.lintMachine()

	report := Report{File: opts.File, States: len(m.all), Possible: map[string][]State{}}
	switch {
	case c.broken():
		// A graph with loose ends has no paths worth following.
	case !acts:
		c.add(Finding{Severity: SeverityInfo, Code: "no-order-tasks", Message: "no task does anything to an order; only the state machine itself was checked"})
		c.estimate(&report)
	default:
		if err := c.explore(&report); err != nil {
			return Report{}, fmt.Errorf("%s: %w", opts.File, err)
		}
		c.estimate(&report)
	}
	rank := map[Severity]int{SeverityError: 0, SeverityWarning: 1, SeverityInfo: 2}
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code))
	})
	report.Findings = c.findings

	return report, nil
}

func (c *checker) add(f Finding) { c.findings = append(c.findings, f) }

// at adds a finding about a state.
func (c *checker) at(sev Severity, code string, s *aslState, line int, format string, args ...any) {
	c.add(Finding{Severity: sev, Code: code, State: s.path(), Line: cmp.Or(line, s.line), Message: fmt.Sprintf(format, args...)})
}

// readTasks asks the options what each Task does and reports whether any does
// something to the order.
func (c *checker) readTasks() bool {
	acts := false
	for _, s := range c.m.all {
		if s.kind != "Task" {
			continue
		}

		var params map[string]any
		if s.parameters != nil {
			params, _ = s.parameters.value().(map[string]any)
		}

		s.effect = c.opts.Task(Task{State: s.name, Resource: s.resource, Parameters: params})
		if !s.effect.order() {
			continue
		}

		acts = true
		for sc := s.scope; ; sc = sc.parent.scope {
			sc.acts = true
			if sc.parent == nil {
				break
			}
		}
		c.readEffect(s)
	}

	return acts
}

func (c *checker) readEffect(s *aslState) {
	e := &s.effect
	if _, known := c.d.events[e.Event]; e.Event != "" && !known {
		hint := ""
		if e.Event == c.d.Place() {
			hint = "; it creates orders, and no transition may use it"
		}
		c.at(SeverityError, "unknown-event", s, 0, "the task applies event %q, which %s version %d does not have%s", e.Event, c.d.Name(), c.d.Version(), hint)
		*e = Effect{Activity: e.Activity}
	}

	if e.Awaits != "" && !c.d.HasState(e.Awaits) {
		c.at(SeverityError, "unknown-awaited-state", s, 0, "the task awaits %q, which is not a state of %s version %d", e.Awaits, c.d.Name(), c.d.Version())
		*e = Effect{Activity: e.Activity, Parks: e.Parks}
	}

	if e.AnyEvent {
		c.at(SeverityInfo, "dynamic-event", s, 0, "the data names the event, so any may be applied here")
	}
}

// broken reports whether the graph has loose ends.
func (c *checker) broken() bool {
	return slices.ContainsFunc(c.findings, func(f Finding) bool {
		switch f.Code {
		case "missing-start", "missing-target", "missing-next", "next-and-end", "unknown-type", "empty-choice", "empty-branches":
			return true
		}

		return false
	})
}
