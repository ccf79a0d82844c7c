package check

import (
	"fmt"
	"strings"
	"time"

	"ratchet/workflow"
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
	Path []PathState `json:"path,omitempty"`
}

// PathState is one ASL state on the path of a finding.
type PathState struct {
	State string `json:"state"`
	// Order is where the execution believes the order to be when it enters the
	// state; "" before the order exists.
	Order workflow.State `json:"order,omitempty"`
	// Actual is where the order is when that differs: somebody moved it.
	Actual workflow.State `json:"actual,omitempty"`
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

// Report is the result of [StateMachine].
type Report struct {
	// File is the name of the state machine, from [Config.File].
	File string `json:"file"`
	// States counts the ASL states, nested ones included; Explored the combinations
	// of ASL state and order state that an execution can be in.
	States   int `json:"states"`
	Explored int `json:"explored"`
	// Findings are sorted: errors first, then by line.
	Findings []Finding `json:"findings"`
	// Possible lists the order states with which an execution can enter each ASL
	// state; "" stands for an order that does not exist yet.
	Possible map[string][]workflow.State `json:"possible"`
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

// Text is the report for a terminal: findings with their paths, then what an
// execution uses.
func (r *Report) Text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s:", r.File)

		if f.Line > 0 {
			fmt.Fprintf(&b, "%d:", f.Line)
		}
		fmt.Fprintf(&b, " %s %s:", f.Severity, f.Code)

		if f.State != "" {
			fmt.Fprintf(&b, " %s:", f.State)
		}
		fmt.Fprintf(&b, " %s\n", f.Message)
		writePath(&b, f.Path)
	}
	fmt.Fprintf(&b, "%s: %d states", r.File, r.States)

	if r.Explored > 0 {
		fmt.Fprintf(&b, ", %d combinations with the order's state explored", r.Explored)
	}
	fmt.Fprintf(&b, ": %s, %s\n", plural(r.Count(SeverityError), "error"), plural(r.Count(SeverityWarning), "warning"))

	if r.Longest.Transitions > 0 {
		fmt.Fprintf(&b, "an execution uses       transitions  history events  dollars   at most\n")

		for _, row := range []struct {
			name string
			e    Estimate
		}{{"shortest way to an end", r.Shortest}, {"every state once", r.Longest}, {"and every retry", r.Worst}} {
			fmt.Fprintf(&b, "%-22s  %11d  %14d  %.6f  %s\n", row.name, row.e.Transitions, row.e.HistoryEvents, row.e.Dollars, span(row.e.Seconds))
		}
	}

	return b.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// span says seconds as a person would.
func span(seconds float64) string {
	switch d := seconds / 86400; {
	case seconds == 0:
		return "-"
	case d > 365:
		return fmt.Sprintf("%.0f years", d/365)
	case d >= 2:
		return fmt.Sprintf("%.0f days", d)
	}

	return (time.Duration(seconds) * time.Second).String()
}

// writePath prints one step per line, the order's state beside the ASL state.
func writePath(b *strings.Builder, path []PathState) {
	width := 0
	for _, s := range path {
		width = max(width, len(s.State))
	}

	for i, s := range path {
		if i > 0 && s.How != "" {
			fmt.Fprintf(b, "        | %s\n", s.How)
		}

		order := string(s.Order)
		if order == "" {
			order = "(no order)"
		}

		if s.Actual != "" {
			order += " (it is " + string(s.Actual) + ")"
		}
		fmt.Fprintf(b, "    %2d  %-*s  %s\n", i+1, width, s.State, order)
	}
}
