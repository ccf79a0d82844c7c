package orders

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

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/executions"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func ordersExplain(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "explain ORDER", Short: "Show how an order came to its state, and which events are legal now", Args: cobra.ExactArgs(1),
		Long: "Shows the order's transitions from its journal and its ring, which of the two recorded each,\n" +
			"why and by whom they were requested, which ids were skipped, and for every event whether it is\n" +
			"legal now, and if not, why. A time line merges them with the order's execution, its waiting\n" +
			"tasks, notifications and dead letters, and with the effects that are due, and says what to do next. Of an\n" +
			"execution that runs or failed before its order existed it shows the cause and the commands that help.\n\n" +
			"Refused requests are in the time line, too, as far as their log has them: workers and servers\n" +
			"write a sample of them after the answer, for 7 days. All are in the logs of workers and servers at\n" +
			"level debug (--log-level debug); with --log they are shown from there. A refusal decides\n" +
			"nothing: a later retry is judged on the state of that time.",
		Example: "  ratchet orders explain o-1\n  ratchet orders explain o-1 --log worker.log --json",
	}
	logs := c.Flags().StringArray("log", nil, "file with a log (text or JSON) to find refused requests in; - is standard input; repeat for more")
	c.RunE = func(c *cobra.Command, args []string) error {
		// The logs are read before the backend is opened: standard input may be one of the
		// logs, and a bad file needs no connection.
		refused, err := refusalsIn(c, *logs, transitions.OrderID(args[0]))
		if err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			e, err := inspect.Explain(c.Context(), b.Orders, transitions.OrderID(args[0]))
			if errors.Is(err, transitions.ErrUnknownOrder) {
				p, open, err := b.Executions.Unplaced(c.Context(), transitions.OrderID(args[0]))
				switch {
				case err != nil:
					return err
				case !open:
					return fmt.Errorf("order %s: %w", args[0], exit.ErrNotFound)
				case p.Kind == executions.Failed:
					return errors.Join(printProblem(c, s.JSON, p), exit.With(exit.Failure, nil))
				}

				return printProblem(c, s.JSON, p)
			}

			if err != nil {
				return err
			}

			if err := e.NoteHold(c.Context(), b.Around()); err != nil {
				return err
			}

			moments, due, incomplete := e.Timeline(c.Context(), b.Orders.Definition(), b.Around())

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), struct {
					inspect.Explanation
					// Due are the effects that the order still has to have.
					Due     []inspect.Due    `json:"due,omitempty"`
					Refused []refusedRequest `json:"refused,omitempty"`
					// Parts that could not be read are listed, and the rest is shown.
					Timeline   []inspect.Moment `json:"timeline"`
					Incomplete []string         `json:"incomplete,omitempty"`
				}{e, due, refused, moments, texts(incomplete)})
			}

			if err := printExplanation(c.OutOrStdout(), e, refused, len(*logs) > 0, b.Orders.Definition()); err != nil {
				return err
			}

			return printTimeline(c.OutOrStdout(), moments, incomplete, e)
		})
	}

	return c
}

// texts returns the unread sources with the reasons.
func texts(unread []inspect.Unread) (texts []string) {
	for _, u := range unread {
		texts = append(texts, u.String())
	}

	return texts
}

// refusalsIn returns the order's refused requests in all the logs, oldest first.
func refusalsIn(c *cobra.Command, logs []string, id transitions.OrderID) (all []refusedRequest, err error) {
	for _, name := range logs {
		log := c.InOrStdin()
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				return nil, exit.UsageError("log: %w", err)
			}
			defer file.Close()
			log = file
		}

		found, err := refusals(log, id)
		if err != nil {
			return nil, exit.UsageError("log %s: %w", name, err)
		}
		all = append(all, found...)
	}
	// The logs of several processes are merged by time. Stable, so that lines of one log keep their
	// order.
	slices.SortStableFunc(all, func(a, b refusedRequest) int { return a.At.Compare(b.At) })

	return all, nil
}

func printExplanation(out io.Writer, e inspect.Explanation, refused []refusedRequest, logged bool, d *workflow.Definition) error {
	o := e.Order
	fmt.Fprintf(out, "order %s is %s since transition %d\n", o.ID, o.State, o.TransitionID)

	// A state of another version of the definition has no text here.
	if i := slices.IndexFunc(d.States(), func(s workflow.StateSpec) bool { return s.State == o.State }); i >= 0 {
		fmt.Fprintf(out, "  %s: %s\n", o.State, d.States()[i].Doc)
	}

	if e.Note != "" {
		fmt.Fprintf(out, "  %s\n", e.Note)
	}

	if e.OtherVersion != 0 {
		fmt.Fprintf(out, "  moved by version %d of the definition; the options below are those of version %d\n", e.OtherVersion, d.Version())
	}

	if len(o.Unreadable) > 0 {
		fmt.Fprintf(out, "  unreadable: %s\n", unreadable(o))
	}
	fmt.Fprintln(out, "\ntransitions")

	if err := printSteps(out, e.Steps); err != nil {
		return err
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)

	if e.Missing != "" {
		fmt.Fprintf(w, "incomplete: %s\n", e.Missing)
	}

	if o.ContentVersion > 0 {
		fmt.Fprintf(w, "its content was edited %s; the last change of any kind was at %s\n", plural.Of(o.ContentVersion, "time"), terminal.StampOf(o.UpdatedAt))

		if o.EditCause != (transitions.Cause{}) {
			fmt.Fprintf(w, "  the last edit because: %s\n", arguments.DescribeCause(o.EditCause))
		}
	}

	// Without --log nothing was looked for, so nothing can be said about missing refusals.
	if logged {
		fmt.Fprintf(w, "\nwhat was refused, by the logs: %s\n", plural.Of(len(refused), "request"))

		for _, r := range refused {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.Stamp(r.At), r.Event, r.Verdict, identified(r))
		}
	} else {
		fmt.Fprintln(w, "what was refused in the last 7 days is in the time line, but not all of it (see --log)")
	}

	if len(e.Timers) > 0 {
		fmt.Fprintln(w, "\nwhat time does if the order stays as it is")
	}

	for _, t := range e.Timers {
		fmt.Fprintln(w, describeTimer(t))
	}
	fmt.Fprintln(w, "\nevents that are legal now")

	for _, option := range e.Options {
		fmt.Fprintf(w, "%s\t%s\n", option.Event, reasonFor(option))
	}

	edit := fmt.Sprintf("no: the definition lets no one edit an order that is %s", e.Order.State)
	if e.Editable {
		edit = "yes: lines, addresses, notes, own attributes"
	}
	fmt.Fprintf(w, "edit its content\t%s\n", edit)

	return w.Flush()
}

// printSteps prints transitions as a table. Lines between its rows do not belong to its columns.
func printSteps(out io.Writer, steps []inspect.Step) error {
	// The table is laid out first and cut into rows: a line between the rows would widen a column.
	var table strings.Builder

	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tEVENT\tFROM\tTO\tAT\tID FROM\tRECORDED IN")

	for _, step := range steps {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", step.ID, step.Event, step.From, step.To, terminal.Stamp(step.At), chosenBy(step), recordedIn(step))
	}

	if err := w.Flush(); err != nil {
		return err
	}

	header, rows, _ := strings.Cut(table.String(), "\n")
	fmt.Fprintln(out, header)

	// Without steps the table ends after its header, and Split would return one empty row.
	for i, row := range strings.Split(strings.TrimSuffix(rows, "\n"), "\n")[:len(steps)] {
		if step := steps[i]; step.Skipped > 0 {
			fmt.Fprintf(out, "    (%s before it never applied)\n", plural.Of(step.Skipped, "id"))
		}
		fmt.Fprintln(out, row)

		if cause := steps[i].Cause; cause != (transitions.Cause{}) {
			fmt.Fprintf(out, "      because: %s\n", inLine(arguments.DescribeCause(cause)))
		}
	}

	return nil
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
		return "assigned to a request id"
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
