package orders

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/inspect"
)

// printTimeline prints the moments, oldest first, and after them the next steps that they need.
func printTimeline(out io.Writer, moments []inspect.Moment, incomplete []inspect.Unread, e inspect.Explanation) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\ntime line")

	for _, m := range moments {
		fmt.Fprintf(w, "%s\t%s\t%s\n", terminal.Stamp(m.At), m.Kind, inLine(m.Words()))
	}

	for _, what := range incomplete {
		// The rest is shown all the same, so a line says what is missing.
		fmt.Fprintf(w, "incomplete: %s\n", inLine(what.String()))
	}
	fmt.Fprintln(w, "\nwhat to do next")

	// Always print a line: no line could mean that nothing was looked at.
	nothing := true
	if _, moved := e.Order.MovedByOther(); moved || e.Order.TransitionID == 0 {
		fmt.Fprintf(w, "order\t%s\n", inLine(e.Note))
		nothing = false
	}

	for _, m := range moments {
		if m.Next != "" {
			fmt.Fprintf(w, "%s\t%s\n", m.Kind, m.Next)
			nothing = false
		}
	}

	if nothing {
		fmt.Fprintln(w, nothingToDo(e.Options))
	}

	return w.Flush()
}

// inLine puts a text of several lines into one line, without characters that would change the
// terminal or the table.
func inLine(text string) string { return terminal.OneLine(strings.Join(strings.Fields(text), " ")) }

// nothingToDo describes an order that needs nothing: the events that are legal, or that it has
// ended.
func nothingToDo(options []inspect.Option) string {
	var legal []string
	for _, o := range options {
		if o.Legal {
			legal = append(legal, string(o.Event))
		}
	}

	if len(legal) == 0 {
		return "nothing: the order has ended"
	}

	return "nothing has failed, and nothing waits; legal now: " + strings.Join(legal, ", ")
}
