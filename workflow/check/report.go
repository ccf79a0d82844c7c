package check

import "ratchet/workflow"

// Severity grades a finding.
type Severity string

// The grades of a finding.
const (
	SeverityError   Severity = "error"   // wrong in production sooner or later; the check fails
	SeverityWarning Severity = "warning" // legal, and probably not intended
	SeverityInfo    Severity = "info"    // worth knowing
)

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

// Finding is one result of the check.
type Finding struct {
	Severity Severity `json:"severity"`
	// Code is stable, like "illegal-event", so that scripts can use it.
	Code string `json:"code"`
	// State is the ASL state, nested ones as Outer/Inner; "" for the whole state machine.
	State string `json:"state,omitempty"`
	// Line is the line of the file, 0 when the finding is not about a line.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	// Path is the shortest way from the start of an execution, when the finding is
	// about a path.
	Path []PathState `json:"path,omitempty"`
}

// PathState is one ASL state on the path of a finding.
type PathState struct {
	State string `json:"state"`
	// Order is where the execution believes the order to be when it enters the
	// state; "" before the order exists.
	Order workflow.State `json:"order,omitempty"`
	// Actual is where the order is when that differs, because another caller moved it.
	Actual workflow.State `json:"actual,omitempty"`
	// How says how the execution came here from the state before.
	How string `json:"how,omitempty"`
}

// Estimate is the usage of one execution.
type Estimate struct {
	// Transitions are the state transitions that Step Functions bills. HistoryEvents count towards the
	// limit of 25,000 for an execution.
	Transitions   int64 `json:"transitions"`
	HistoryEvents int64 `json:"historyEvents"`
	// Dollars is the price of the transitions at $0.025 per 1,000 (Standard, us-east-1).
	Dollars float64 `json:"dollars"`
	// Seconds is how long tasks, retries and waits may take at most, 0 for the
	// shortest path.
	Seconds float64 `json:"seconds"`
}
