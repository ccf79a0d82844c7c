package check

import (
	"fmt"
	"strings"
	"time"

	"ratchet/internal/plural"
)

// Text returns the report for a terminal: findings with their paths, and then the usage of an execution.
func (r *Report) Text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		writeFinding(&b, r.File, f)
	}

	fmt.Fprintf(&b, "%s: %s", r.File, plural.Of(r.States, "state"))

	if r.Explored > 0 {
		fmt.Fprintf(&b, ", %s with the order's state explored", plural.Of(r.Explored, "combination"))
	}

	fmt.Fprintf(&b, ": %s, %s\n", plural.Of(r.Count(SeverityError), "error"), plural.Of(r.Count(SeverityWarning), "warning"))

	// A broken machine has no estimates.
	if r.Longest.Transitions > 0 {
		r.writeEstimates(&b)
	}

	return b.String()
}

func writeFinding(b *strings.Builder, file string, f Finding) {
	fmt.Fprintf(b, "%s:", file)

	if f.Line > 0 {
		fmt.Fprintf(b, "%d:", f.Line)
	}

	fmt.Fprintf(b, " %s %s:", f.Severity, f.Code)

	if f.State != "" {
		fmt.Fprintf(b, " %s:", f.State)
	}

	fmt.Fprintf(b, " %s\n", f.Message)
	writePath(b, f.Path)
}

// writePath writes one ASL state per line, with the state of the order beside it.
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

func (r *Report) writeEstimates(b *strings.Builder) {
	fmt.Fprintf(b, "an execution uses       transitions  history events  dollars   at most\n")

	rows := []struct {
		name string
		e    Estimate
	}{
		{"shortest way to an end", r.Shortest},
		{"every state once", r.Longest},
		{"and every retry", r.Worst},
	}
	for _, row := range rows {
		fmt.Fprintf(b, "%-22s  %11d  %14d  %.6f  %s\n",
			row.name, row.e.Transitions, row.e.HistoryEvents, row.e.Dollars, duration(row.e.Seconds))
	}
}

// duration writes seconds in a readable unit.
func duration(seconds float64) string {
	switch days := seconds / 86400; {
	case seconds == 0:
		return "-"
	case days > 365:
		return fmt.Sprintf("%.0f years", days/365)
	case days >= 2:
		return fmt.Sprintf("%.0f days", days)
	}

	return (time.Duration(seconds) * time.Second).String()
}
