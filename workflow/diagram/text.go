package diagram

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"ratchet/internal/plural"
	"ratchet/workflow"
)

func mermaid(d *workflow.Definition, counts map[workflow.State]int) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")

	if counts != nil {
		for _, s := range d.States() {
			fmt.Fprintf(&b, "    state \"%s (%s)\" as %s\n", s.State, plural.Thousands(counts[s.State]), s.State)
		}
	}

	fmt.Fprintf(&b, "    [*] --> %s : %s\n", d.Initial(), d.Place())

	for _, m := range movesOf(d) {
		fmt.Fprintf(&b, "    %s --> %s : %s\n", m.From, m.To, m.label())
	}

	for _, s := range d.States() {
		if s.Terminal {
			fmt.Fprintf(&b, "    %s --> [*]\n", s.State)
		}
	}

	return b.String()
}

func dot(d *workflow.Definition, counts map[workflow.State]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n", d.Name())
	b.WriteString("    rankdir=LR;\n    node [shape=box, style=rounded];\n    start [shape=point];\n")
	fmt.Fprintf(&b, "    start -> %q [label=%q];\n", d.Initial(), d.Place())

	for _, s := range d.States() {
		var attributes []string
		if s.Terminal {
			attributes = append(attributes, "peripheries=2")
		}

		if counts != nil {
			attributes = append(attributes, fmt.Sprintf(`label="%s\n%s"`, s.State, plural.Thousands(counts[s.State])))
		}

		if len(attributes) > 0 {
			fmt.Fprintf(&b, "    %q [%s];\n", s.State, strings.Join(attributes, ", "))
		}
	}

	for _, m := range movesOf(d) {
		fmt.Fprintf(&b, "    %q -> %q [label=%q];\n", m.From, m.To, m.label())
	}

	return b.String() + "}\n"
}

// table writes one row per move. The number of orders and the meaning of a state stand
// in its first row only. Without counts there is no column for them.
func table(d *workflow.Definition, counts map[workflow.State]int) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)

	orders := func(cell string) string {
		if counts == nil {
			return ""
		}
		return cell + "\t"
	}

	fmt.Fprintf(w, "STATE\t%sEVENT\tNEXT\tMEANING\n", orders("ORDERS"))
	fmt.Fprintf(w, "(none)\t%s%s\t%s\ta new %s\n", orders(""), d.Place(), d.Initial(), d.Name())

	for _, s := range d.States() {
		count, doc := orders(plural.Thousands(counts[s.State])), s.Doc
		if s.Terminal {
			fmt.Fprintf(w, "%s\t%s-\t(end)\t%s\n", s.State, count, doc)
			// A terminal state has one row, because no event leaves it.
			continue
		}

		for _, e := range d.Events() {
			for _, t := range d.Choices(s.State, e) {
				fmt.Fprintf(w, "%s\t%s%s\t%s\t%s\n", s.State, count, moveOf(s.State, t).label(), t.To, doc)
				count, doc = orders(""), ""
			}
		}
	}

	_ = w.Flush() // a strings.Builder never fails

	return b.String()
}
