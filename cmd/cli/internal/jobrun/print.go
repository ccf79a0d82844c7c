package jobrun

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/jobs"
)

// Line is a job in one line.
func Line(j jobs.Job) string {
	state := string(j.State)
	if j.Wanted != "" {
		state += ", to be " + string(j.Wanted)
	}

	if j.Problem != "" {
		state += ": " + j.Problem
	}

	kind := string(j.Kind)
	if j.DryRun {
		kind += " (dry run)"
	}

	total := fmt.Sprint(j.Total)
	if !j.Selected {
		total += " so far"
	}

	return fmt.Sprintf("%s  %s  %s  %d of %s", j.ID, kind, state, j.Results(), total)
}

// Print prints a job.
func Print(out io.Writer, asJSON bool, j jobs.Job) error {
	if asJSON {
		return terminal.PrintJSON(out, j)
	}

	lines := []string{Line(j), "    by " + j.By + ": " + j.Reason}
	if m := j.Migration; m != nil {
		lines = append(lines, fmt.Sprintf("    to version %d of %s", m.To, m.Workflow))
	}

	for _, code := range slices.Sorted(maps.Keys(j.Counts)) {
		lines = append(lines, fmt.Sprintf("    %d %s", j.Counts[code], code))
	}

	for _, s := range j.Sample {
		lines = append(lines, "    like "+s.ID+": "+s.Code)
	}

	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))

	return err
}
