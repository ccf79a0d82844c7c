package diagram

import (
	"fmt"
	"strings"

	"ratchet/internal/plural"
	"ratchet/workflow"
)

// MigrationPlan returns the plan as text for a terminal, one row per version and state.
func MigrationPlan(p workflow.MigrationPlan) string {
	var b strings.Builder
	for _, r := range p.Rows {
		fmt.Fprintf(&b, "version %d  %-20s  %8s %-6s  ", r.Version, r.State, plural.Thousands(r.Orders), plural.Noun(r.Orders, "order"))

		switch {
		case r.To == "":
			fmt.Fprintf(&b, "no mapping: %s\n", r.Problem)
		case r.Reopens:
			fmt.Fprintf(&b, "-> %s (an end that is open again)\n", r.To)
		case r.Ends:
			fmt.Fprintf(&b, "-> %s (which is an end)\n", r.To)
		default:
			fmt.Fprintf(&b, "-> %s\n", r.To)
		}
	}

	fmt.Fprintf(&b, "%s %s: %s to be migrated to version %d, %s without a mapping\n",
		plural.Thousands(p.Orders), plural.Noun(p.Orders, "order"), plural.Thousands(p.Outdated), p.To, plural.Thousands(p.Unmapped))

	return b.String()
}
