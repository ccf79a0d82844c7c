package plan

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Text returns the report for a terminal.
func (r Report) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "one order: %s\n", strings.Join(r.Way, " > "))

	if len(r.Loops) > 0 {
		fmt.Fprintf(&out, "  one turn is counted of each loop that ends at %s\n", strings.Join(r.Loops, ", "))
	}

	fmt.Fprintf(&out, "  %d state transitions, %d history events of at most %d, open for %s\n",
		r.Transitions, r.HistoryEvents, HistoryLimit, time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
	fmt.Fprintf(&out, "  $%.6f for Step Functions", r.DollarsStepFunctions)

	if r.DollarsDynamoDB > 0 {
		fmt.Fprintf(&out, ", $%.6f for DynamoDB; a million orders: $%.0f", r.DollarsDynamoDB, (r.DollarsStepFunctions+r.DollarsDynamoDB)*1e6)
	}

	out.WriteString("\n\n")

	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "QUOTA\tALLOWED\tPER ORDER\tORDERS A SECOND")

	for _, l := range r.Limits {
		fmt.Fprintf(w, "%s\t%.0f\t%.3g\t%.1f\n", l.Quota, l.Allowed, l.Used, l.OrdersPerSecond)
	}

	_ = w.Flush() // writing to a strings.Builder does not fail

	if len(r.Limits) > 0 {
		fmt.Fprintf(&out, "\n%s\n", r.advice())
	}

	return out.String()
}

// advice says which quotas bind first, and how much raising them would give.
func (r Report) advice() string {
	first := r.Limits[0].OrdersPerSecond

	var names, raised []string
	var next *Limit

	// Limits are sorted. Quotas that allow the same rate bind together,
	// and raising only one of them gives nothing.
	for i, l := range r.Limits {
		if l.OrdersPerSecond > first {
			next = &r.Limits[i]
			break
		}

		names = append(names, l.Quota)
	}

	text := fmt.Sprintf("%s: %.1f orders a second is the most.", strings.Join(names, " and "), first)
	if next == nil {
		return text
	}

	for _, l := range r.Limits[:len(names)] {
		// Up to the next limit: more would not help.
		raised = append(raised, fmt.Sprintf("%s raised to %.0f", l.Quota, next.OrdersPerSecond*l.Used))
	}

	return text + fmt.Sprintf(" With %s it is %.1f, by %s.", strings.Join(raised, " and "), next.OrdersPerSecond, next.Quota)
}
