package diagram

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ratchet/workflow"
	"ratchet/workflow/file"
)

// formats lists what [Render] can write.
var formats = []string{"mermaid", "dot", "table", "svg", "yaml"}

// Render returns the definition in a format:
//
//   - "mermaid": a stateDiagram-v2
//   - "dot": Graphviz
//   - "svg": a picture for a browser
//   - "table": text for a terminal
//   - "yaml": a definition file, see [file.Format]
//
// The counts are the numbers of orders by state; a state that is missing in the map has
// none. With nil counts the diagram has no numbers. An unknown format, a count for a
// state that the definition lacks, and counts for "yaml" are errors.
func Render(d *workflow.Definition, format string, counts map[workflow.State]int) (string, error) {
	if !slices.Contains(formats, format) {
		return "", fmt.Errorf("diagram format %q is not one of %s", format, strings.Join(formats, ", "))
	}

	for s := range counts {
		if !d.HasState(s) {
			return "", fmt.Errorf("orders in state %q, which workflow %s version %d does not have", s, d.Name(), d.Version())
		}
	}

	switch format {
	case "mermaid":
		return mermaid(d, counts), nil
	case "dot":
		return dot(d, counts), nil
	case "svg":
		return svg(d, counts), nil
	case "table":
		return table(d, counts), nil
	}

	if counts != nil {
		return "", fmt.Errorf("a definition file (yaml) has no place for counts of orders")
	}

	return file.Format(d), nil
}

// arrow is one move from a state to another.
type arrow struct {
	from, to workflow.State
	label    string
}

// arrows lists the moves in the order of the definition's states and events.
func arrows(d *workflow.Definition) []arrow {
	var all []arrow
	for _, s := range d.States() {
		for _, e := range d.Events() {
			for _, t := range d.Choices(s.State, e) {
				all = append(all, arrow{s.State, t.To, label(t)})
			}
		}
	}

	return all
}

// label returns the event with the names of its guards in brackets, as UML writes it.
func label(t workflow.Transition) string {
	if len(t.Guards) == 0 {
		return string(t.Event)
	}

	names := make([]string, len(t.Guards))
	for i, g := range t.Guards {
		names[i] = g.Name
	}

	return fmt.Sprintf("%s [%s]", t.Event, strings.Join(names, ", "))
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int) string {
	text := strconv.Itoa(n)
	// There is no comma directly behind a minus.
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}

	return text
}
