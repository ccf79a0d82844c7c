package workflow

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// formats lists what [Definition.Render] can draw.
var formats = []string{"mermaid", "dot", "table"}

// Render draws the definition: "mermaid" (stateDiagram-v2), "dot" (Graphviz) or
// "table" (for a terminal). The text is the same on every call.
func (d *Definition) Render(format string) (string, error) {
	switch format {
	case "mermaid":
		return d.mermaid(), nil
	case "dot":
		return d.dot(), nil
	case "table":
		return d.table(), nil
	}
	return "", fmt.Errorf("diagram format %q is not one of %s", format, strings.Join(formats, ", "))
}

// edges calls fn for every pair in the definition's order.
func (d *Definition) edges(fn func(from State, e Event, to State)) {
	for _, s := range d.spec.States {
		for _, e := range d.order {
			if to, ok := d.Next(s.State, e); ok {
				fn(s.State, e, to)
			}
		}
	}
}

func (d *Definition) mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stateDiagram-v2\n    [*] --> %s : %s\n", d.spec.Initial, d.spec.Place)
	d.edges(func(from State, e Event, to State) { fmt.Fprintf(&b, "    %s --> %s : %s\n", from, to, e) })
	for _, s := range d.spec.States {
		if s.Terminal {
			fmt.Fprintf(&b, "    %s --> [*]\n", s.State)
		}
	}
	return b.String()
}

func (d *Definition) dot() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n    start [shape=point];\n    start -> %q [label=%q];\n",
		d.spec.Name, d.spec.Initial, d.spec.Place)
	for _, s := range d.spec.States {
		if s.Terminal {
			fmt.Fprintf(&b, "    %q [peripheries=2];\n", s.State)
		}
	}
	d.edges(func(from State, e Event, to State) { fmt.Fprintf(&b, "    %q -> %q [label=%q];\n", from, to, e) })
	return b.String() + "}\n"
}

func (d *Definition) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "STATE\tEVENT\tNEXT\tMEANING\n(none)\t%s\t%s\ta new order\n", d.spec.Place, d.spec.Initial)
	for _, s := range d.spec.States {
		if s.Terminal {
			fmt.Fprintf(w, "%s\t-\t(end)\t%s\n", s.State, s.Doc)
			continue
		}
		doc := s.Doc
		for _, e := range d.order {
			if to, ok := d.Next(s.State, e); ok {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.State, e, to, doc)
				doc = ""
			}
		}
	}
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
}
