package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func ordersExplain(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "explain ORDER", Short: "Show how an order came to its state, and which events are legal now", Args: cobra.ExactArgs(1),
		Long: "Shows the order's transitions from its journal and its ring, which of the two recorded each,\n" +
			"which ids were skipped, and for every event whether it is legal now, and if not, why.\n\n" +
			"The tables hold no refused requests, so a refusal costs no storage and a later retry is decided\n" +
			"on the state of that time. Workers and servers log refused requests at level debug (--log-level\n" +
			"debug); with --log they are shown from that log.",
	}
	logs := c.Flags().StringArray("log", nil, "file with a log (text or JSON) to find refused requests in; - is standard input; repeat for more")
	c.RunE = func(c *cobra.Command, args []string) error {
		refused, err := refusalsIn(c, *logs, transitions.OrderID(args[0]))
		if err != nil {
			return err
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			e, err := inspect.Explain(c.Context(), b.Orders, transitions.OrderID(args[0]))
			if errors.Is(err, transitions.ErrUnknownOrder) {
				return fmt.Errorf("order %s: %w", args[0], errNotFound)
			}

			if err != nil {
				return err
			}

			if s.json {
				return printJSON(c.OutOrStdout(), struct {
					inspect.Explanation
					Refused []refusedRequest `json:"refused,omitempty"`
				}{e, refused})
			}

			return printExplanation(c.OutOrStdout(), e, refused, len(*logs) > 0, b.Orders.Definition())
		})
	}

	return c
}

// refusalsIn returns the order's refused requests in all the logs, oldest first.
func refusalsIn(c *cobra.Command, logs []string, id transitions.OrderID) (all []refusedRequest, err error) {
	for _, name := range logs {
		log := c.InOrStdin()
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				return nil, usageError("log: %w", err)
			}
			defer file.Close()
			log = file
		}

		found, err := refusals(log, id)
		if err != nil {
			return nil, usageError("log %s: %w", name, err)
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b refusedRequest) int { return a.At.Compare(b.At) })

	return all, nil
}

func printExplanation(out io.Writer, e inspect.Explanation, refused []refusedRequest, logged bool, d *workflow.Definition) error {
	o := e.Order
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "order %s is %s since transition %d\n", o.ID, o.State, o.TransitionID)

	if i := slices.IndexFunc(d.States(), func(s workflow.StateSpec) bool { return s.State == o.State }); i >= 0 {
		fmt.Fprintf(w, "  %s: %s\n", o.State, d.States()[i].Doc)
	}

	if e.OtherVersion != 0 {
		fmt.Fprintf(w, "  moved by version %d of the definition; the options below are those of version %d\n", e.OtherVersion, d.Version())
	}
	fmt.Fprintln(w, "\ntransitions")
	fmt.Fprintln(w, "ID\tEVENT\tFROM\tTO\tAT\tID FROM\tRECORDED IN")

	for _, step := range e.Steps {
		if step.Skipped > 0 {
			fmt.Fprintf(w, "\t(%d ids before it were never applied)\n", step.Skipped)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", step.ID, step.Event, step.From, step.To, stamp(step.At), chosenBy(step), recordedIn(step))
	}

	if e.Missing != "" {
		fmt.Fprintf(w, "incomplete: %s\n", e.Missing)
	}

	if o.ContentVersion > 0 {
		fmt.Fprintf(w, "its content was edited %d times; the last change of any kind was at %s\n", o.ContentVersion, stamp(o.UpdatedAt))
	}

	if logged {
		fmt.Fprintf(w, "\nwhat was refused, by the logs: %d requests\n", len(refused))

		for _, r := range refused {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", stamp(r.At), r.Event, r.Verdict, identified(r))
		}
	} else {
		fmt.Fprintln(w, "refused requests are in the debug logs only (--log FILE)")
	}
	fmt.Fprintln(w, "\nevents that are legal now")

	for _, option := range e.Options {
		fmt.Fprintf(w, "%s\t%s\n", option.Event, reasonFor(option))
	}

	edit := "not any more: it is past its payment, or ended"
	if e.Editable {
		edit = "yes: lines, addresses, notes"
	}
	fmt.Fprintf(w, "edit its content\t%s\n", edit)

	return w.Flush()
}

// identified returns the request id or the transition id of the refused request.
func identified(r refusedRequest) string {
	if r.Request != "" {
		return "request " + strconv.Quote(r.Request)
	}
	return fmt.Sprintf("transition %d", r.ID)
}

// chosenBy says who chose the id of a transition.
func chosenBy(s inspect.Step) string {
	switch {
	case s.Assigned:
		return "allotted to a request id"
	case s.Named:
		return "caller, with a request id"
	}

	return "caller"
}

// recordedIn says where a transition is recorded.
func recordedIn(s inspect.Step) string {
	switch {
	case s.Journal && s.Ring:
		return "journal, ring"
	case s.Journal:
		return "journal"
	}

	return "ring"
}

// reasonFor says where an event leads, or why it is not legal now.
func reasonFor(o inspect.Option) string {
	switch {
	case o.Legal && o.If != "":
		return fmt.Sprintf("leads to %s, if the request satisfies %s", o.To, o.If)
	case o.Legal:
		return "leads to " + string(o.To)
	case o.Unmet != "":
		return "not now: " + o.Unmet
	}

	needs := make([]string, len(o.Needs))
	for i, s := range o.Needs {
		needs[i] = string(s)
	}

	when := "it cannot come there any more"
	if o.Ahead {
		when = "it may still come there"
	}

	return "not now: needs " + strings.Join(needs, " or ") + "; " + when
}
