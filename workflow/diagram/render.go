package diagram

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ratchet/internal/plural"
	"ratchet/workflow"
)

// formats lists what [Render] can write.
var formats = []string{"mermaid", "dot", "table", "svg"}

// ErrFormat says that there is no such format. The text lists those that there are.
var ErrFormat = errors.New("not a diagram format")

// Render returns the definition in a format:
//
//   - "mermaid": a stateDiagram-v2
//   - "dot": Graphviz
//   - "svg": a picture for a browser
//   - "table": text for a terminal
//
// The counts are the numbers of orders by state; a state that is missing in the map has
// none. With nil counts the diagram has no numbers. Another format is an ErrFormat, and a count for
// a state that the definition lacks is an error.
func Render(d *workflow.Definition, format string, counts map[workflow.State]int) (string, error) {
	if !slices.Contains(formats, format) {
		return "", fmt.Errorf("%q is %w: choose %s", format, ErrFormat, strings.Join(formats, ", "))
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
		return svg(d, counts)
	default:
		return table(d, counts), nil
	}
}

// svg returns a picture that stands alone. States that have orders stand out.
func svg(d *workflow.Definition, counts map[workflow.State]int) (string, error) {
	picture, err := Layout(graphOf(d))
	if err != nil {
		return "", err
	}
	paint := Paint{Standalone: true, Nodes: map[string]string{}, Notes: map[string]string{}}

	if counts != nil {
		for _, s := range d.States() {
			paint.Notes[string(s.State)] = plural.Thousands(counts[s.State])
			if counts[s.State] > 0 {
				paint.Nodes[string(s.State)] = "some"
			}
		}
	}

	return picture.SVG(paint), nil
}

// movesOf lists the moves in the order of the definition's states and events.
func movesOf(d *workflow.Definition) []Move {
	var all []Move
	for _, s := range d.States() {
		for _, e := range d.Events() {
			for _, t := range d.Choices(s.State, e) {
				all = append(all, moveOf(s.State, t))
			}
		}
	}

	return all
}

func moveOf(from workflow.State, t workflow.Transition) Move {
	m := Move{From: string(from), Event: string(t.Event), To: string(t.To)}
	for _, g := range t.Guards {
		m.Guards = append(m.Guards, g.Name)
	}

	if t.After != nil {
		m.After = t.After.String()
	}

	return m
}
