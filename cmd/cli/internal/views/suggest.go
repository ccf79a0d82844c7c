package views

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/transitions"
	"ratchet/workflow"
)

// PrintUnknownNames prints which names of a refused request the definition does not have.
func PrintUnknownNames(out io.Writer, d *workflow.Definition, r transitions.Request) {
	printUnknown(out, "event", string(r.Event), settings.EventNames(d))

	if r.From != "" {
		printUnknown(out, "state", string(r.From), settings.StateNames(d))
	}
}

// printUnknown prints the known names that are similar to an unknown name, or all names if none
// is similar.
func printUnknown(out io.Writer, kind, name string, all []string) {
	if slices.Contains(all, name) {
		return
	}

	var similar []string
	// A third of the name's letters, at most two: short names are near to everything.
	near := min(2, len(name)/3)

	for _, known := range all {
		if distance(strings.ToLower(name), strings.ToLower(known)) <= near {
			similar = append(similar, known)
		}
	}

	if len(similar) > 0 {
		fmt.Fprintf(out, "ratchet: there is no %s %q; did you mean %s?\n", kind, name, strings.Join(similar, " or "))
		return
	}

	fmt.Fprintf(out, "ratchet: there is no %s %q; there are %s\n", kind, name, strings.Join(all, ", "))
}

// distance is how many letters must be changed, added or removed to make b of a (Levenshtein).
func distance(a, b string) int {
	// One row of the table of distances suffices.
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}

	for i := range len(a) {
		before := row[0]
		row[0] = i + 1

		for j := range len(b) {
			changed := before
			if a[i] != b[j] {
				changed++
			}

			before = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}

	return row[len(b)]
}
