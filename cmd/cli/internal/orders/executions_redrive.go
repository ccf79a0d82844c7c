package orders

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/executions"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/transitions"
)

const executionsRedriveHelp = `Step Functions runs the failed state again, in the same execution and with the
definition that the execution was started with. States that succeeded do not run again.

The executions are found through their orders, and those that failed before their orders existed
through the list of executions: name orders, or select failures by error name and by the time of
the failure. The service refuses a redrive 14 days after the end of an
execution, a year after its start, and at 25,000 events; ` + "`ratchet executions repair`" + ` helps
there, and where the state machine itself was wrong.

Selected failures are redriven by a job: a worker runs it, or without workers this command. Ctrl-C
pauses it, and ` + "`ratchet jobs resume`" + ` goes on.`

func executionsRedrive(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "redrive [ORDER...]", Short: "Run the failed states of executions again", Long: executionsRedriveHelp,
		Example: "  ratchet executions redrive o-1 o-2\n" +
			"  ratchet executions redrive --error Order.Unavailable --since 2026-11-22T08:00:00Z --dry-run",
	}
	filter := surveyFlags(c)
	all := c.Flags().Bool("all", false, "every order whose execution failed")
	dry := c.Flags().Bool("dry-run", false, "only print what would be redriven")
	tenant := c.Flags().String("tenant", string(auth.DefaultTenant), "without names of orders: the tenant whose orders they are")
	job := jobrun.AddFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := filter(args)
		if err := errors.Join(err, job.Check()); err != nil {
			return err
		}

		// Without a selection the command would redrive every failed execution; only --all asks for
		// that.
		if len(args) == 0 && f.Error == "" && f.Since.IsZero() && f.Until.IsZero() && !*all {
			return exit.UsageError("name orders, or select them by --error, --since or --until, or give --all")
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			if len(args) > 0 || *dry {
				return redriveAll(c, s, b, f, *dry)
			}
			n := jobs.New{Kind: jobs.RedriveExecutions, Tenant: arguments.OwnerOf(*tenant), Filter: jobs.Filter{Error: f.Error, Since: f.Since, Until: f.Until}}

			return job.All(c, s, b, n, "execution", "redriven")
		})
	}

	return s.Long(c, "looking at executions")
}

// redriven is a line of the output.
type redriven struct {
	Order  transitions.OrderID `json:"orderId"`
	Name   string              `json:"execution"`
	Error  string              `json:"error,omitempty"`
	Result string              `json:"result"`
	Reason string              `json:"reason,omitempty"`
}

// redriveAll redrives the failed executions of the orders that the filter selects. If the service
// refuses one, the others are redriven all the same.
func redriveAll(c *cobra.Command, s *settings.Settings, b *server.Backend, f executions.Filter, dry bool) error {
	out, refused := c.OutOrStdout(), 0

	// Orders that were named and have no failed execution get a line at the end.
	healthy := map[transitions.OrderID]bool{}
	for _, id := range f.Orders {
		healthy[id] = true
	}

	if !s.JSON {
		fmt.Fprintln(out, "ORDER  EXECUTION  ERROR  RESULT")
	}

	err := b.Executions.Survey(c.Context(), time.Now(), f, func(p executions.Problem) error {
		if p.Kind != executions.Failed {
			return nil
		}

		delete(healthy, p.Ref())
		line := redriven{Order: p.Ref(), Name: p.Execution.Name, Error: p.Execution.Error, Result: "would be redriven"}

		switch {
		case p.Execution.NotRedrivable != "":
			line.Result, line.Reason = "not redrivable", p.Execution.NotRedrivable
		case !dry:
			line.Result = "redriven"

			_, err := b.Executions.Redrive(c.Context(), p.Ref())
			// Another redrive was faster, with the same result.
			if errors.Is(err, executions.ErrHealthy) {
				line.Result = "runs again already"
			} else if err != nil {
				line.Result, line.Reason = "not redriven", err.Error()
			}
		}

		// A dry run also counts the executions that the service would refuse.
		if line.Reason != "" {
			refused++
		}

		return printRedriven(c, s.JSON, line)
	}, s.Progress.Orders("looked at"))
	if err != nil {
		return err
	}

	for _, id := range slices.Sorted(maps.Keys(healthy)) {
		fmt.Fprintf(c.ErrOrStderr(), "order %s: no execution of it has failed so; `ratchet executions repair %s` says what else is wrong\n", id, id.Arg())
	}

	if refused > 0 {
		return exit.With(exit.Refused, fmt.Errorf("not redriven: %s", plural.Of(refused, "execution")))
	}

	return nil
}

func printRedriven(c *cobra.Command, asJSON bool, line redriven) error {
	if asJSON {
		return terminal.PrintJSON(c.OutOrStdout(), line)
	}

	_, err := fmt.Fprintf(c.OutOrStdout(), "%s  %s  %s  %s\n", line.Order, line.Name, terminal.OrDash(line.Error), line.Result)
	if err == nil && line.Reason != "" {
		_, err = fmt.Fprintf(c.OutOrStdout(), "    %s\n    try: ratchet executions repair %s\n", line.Reason, line.Order.Arg())
	}

	return err
}

// surveyFlags adds the flags that select failed executions, and returns a function that reads them.
func surveyFlags(c *cobra.Command) func(orders []string) (executions.Filter, error) {
	name := c.Flags().String("error", "", "only executions that failed with this error name, like Order.Unavailable")
	since := c.Flags().String("since", "", "only what failed at or after this time (RFC 3339), or this long ago (like 2h)")
	until := c.Flags().String("until", "", "only what failed before this time, in the same forms")

	return func(orders []string) (f executions.Filter, err error) {
		f.Error = *name
		for _, id := range orders {
			f.Orders = append(f.Orders, transitions.OrderID(id))
		}

		if f.Since, err = arguments.PointInTime("since", *since); err != nil {
			return f, err
		}

		f.Until, err = arguments.PointInTime("until", *until)

		return f, err
	}
}
