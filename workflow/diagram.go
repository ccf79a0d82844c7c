package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// formats lists what [Definition.Render] can write.
var formats = []string{"mermaid", "dot", "table", "svg", "yaml"}

// Render writes the definition: "mermaid" (stateDiagram-v2), "dot" (Graphviz), "svg"
// (a picture for a browser), "table" (for a terminal) or "yaml" (for [Parse]). The
// text is the same on every call.
func (d *Definition) Render(format string) (string, error) { return d.RenderWith(format, nil) }

// RenderWith is Render with the number of orders in each state; states that are not
// in the map have none. Nil counts leave the numbers out. A "yaml" file has no place
// for them: with counts it is an error, and so is a state that the definition lacks.
func (d *Definition) RenderWith(format string, counts map[State]int) (string, error) {
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
		return d.mermaid(counts), nil
	case "dot":
		return d.dot(counts), nil
	case "svg":
		return d.svg(counts), nil
	case "table":
		return d.table(counts), nil
	}

	if counts != nil {
		return "", fmt.Errorf("a definition file (yaml) has no place for counts of orders")
	}

	return d.yaml(), nil
}

// arrow is one line of a diagram.
type arrow struct {
	from, to State
	label    string
}

// arrows lists every move in the definition's order, guards in brackets.
func (d *Definition) arrows() []arrow {
	var all []arrow
	for _, s := range d.spec.States {
		for _, e := range d.order {
			for _, t := range d.Choices(s.State, e) {
				all = append(all, arrow{s.State, t.To, t.label()})
			}
		}
	}

	return all
}

// label is the event with the names of its guards, as UML writes it.
func (t Transition) label() string {
	if len(t.Guards) == 0 {
		return string(t.Event)
	}

	names := make([]string, len(t.Guards))
	for i, g := range t.Guards {
		names[i] = g.Name
	}

	return fmt.Sprintf("%s [%s]", t.Event, strings.Join(names, ", "))
}

func (d *Definition) mermaid(counts map[State]int) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")

	if counts != nil {
		for _, s := range d.spec.States {
			fmt.Fprintf(&b, "    state \"%s (%s)\" as %s\n", s.State, thousands(counts[s.State]), s.State)
		}
	}
	fmt.Fprintf(&b, "    [*] --> %s : %s\n", d.spec.Initial, d.spec.Place)

	for _, a := range d.arrows() {
		fmt.Fprintf(&b, "    %s --> %s : %s\n", a.from, a.to, a.label)
	}

	for _, s := range d.spec.States {
		if s.Terminal {
			fmt.Fprintf(&b, "    %s --> [*]\n", s.State)
		}
	}

	return b.String()
}

func (d *Definition) dot(counts map[State]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n    start [shape=point];\n    start -> %q [label=%q];\n",
		d.spec.Name, d.spec.Initial, d.spec.Place)

	for _, s := range d.spec.States {
		var attributes []string
		if s.Terminal {
			attributes = append(attributes, "peripheries=2")
		}

		if counts != nil {
			attributes = append(attributes, fmt.Sprintf(`label="%s\n%s"`, s.State, thousands(counts[s.State])))
		}

		if len(attributes) > 0 {
			fmt.Fprintf(&b, "    %q [%s];\n", s.State, strings.Join(attributes, ", "))
		}
	}

	for _, a := range d.arrows() {
		fmt.Fprintf(&b, "    %q -> %q [label=%q];\n", a.from, a.to, a.label)
	}

	return b.String() + "}\n"
}

func (d *Definition) table(counts map[State]int) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	orders := func(s string) string {
		if counts == nil {
			return ""
		}
		return s + "\t"
	}
	fmt.Fprintf(w, "STATE\t%sEVENT\tNEXT\tMEANING\n(none)\t%s%s\t%s\ta new %s\n", orders("ORDERS"), orders(""), d.spec.Place, d.spec.Initial, d.spec.Name)

	for _, s := range d.spec.States {
		state, n, doc := string(s.State), orders(thousands(counts[s.State])), s.Doc
		if s.Terminal {
			fmt.Fprintf(w, "%s\t%s-\t(end)\t%s\n", state, n, doc)
			continue
		}

		for _, e := range d.order {
			for _, t := range d.Choices(s.State, e) {
				fmt.Fprintf(w, "%s\t%s%s\t%s\t%s\n", state, n, t.label(), t.To, doc)
				n, doc = orders(""), ""
			}
		}
	}
	_ = w.Flush() // a strings.Builder does not fail

	return b.String()
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}

	return text
}
