package orders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
)

func ordersScheduled(s *settings.Settings) *cobra.Command {
	return settings.Group("scheduled", "List, move and withdraw the requests of an order that are for later", scheduledList(s), scheduledMove(s), scheduledWithdraw(s))
}

const scheduledListHelp = `Lists the requests that are for later (orders apply --at), the earliest first: those that wait,
and those that have ended in the last 30 days, with what has become of them. --limit and --after
page through them in the order of their ids.`

func scheduledList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list ORDER", Short: "List the requests of an order that are for later", Long: scheduledListHelp, Args: cobra.ExactArgs(1),
		Example: "  ratchet orders scheduled list o-1 --json",
	}
	limit := arguments.LimitFlag(c.Flags(), 100, 2_000, "at most this many")
	after := c.Flags().String("after", "", "continue after this id, which the page before printed")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := arguments.Given(c.Flags(), "after"); err != nil {
			return err
		}

		if *after != "" && !scheduled.ID(*after).Valid() {
			return exit.UsageError("after %.64q: must be an id that the page before printed", *after)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			order, err := getOrder(c.Context(), b, args[0])
			if err != nil {
				return err
			}

			found, err := b.Scheduled.List(c.Context(), order.ID, scheduled.ID(*after), *limit)
			if err != nil {
				return err
			}

			next := ""
			if len(found) == *limit {
				next = string(found[len(found)-1].ID)
			}
			slices.SortStableFunc(found, func(a, b scheduled.Request) int { return a.At.Compare(b.At) })

			return terminal.PrintMore(c.ErrOrStderr(), next, printScheduled(c.OutOrStdout(), s.JSON, found))
		})
	}

	return c
}

func scheduledMove(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "move ORDER ID", Short: "Give a request that waits another time", Args: cobra.ExactArgs(2),
		Long:    "Gives a request that waits another time, at most a year ahead. `ratchet orders scheduled list` has its id.",
		Example: "  ratchet orders scheduled move o-1 0123456789abcdef0123456789abcdef --to 2027-01-15T08:00:00Z",
	}
	text := c.Flags().String("to", "", "the new time, such as 2026-12-24T18:00:00Z or 72h from now")
	_ = c.MarkFlagRequired("to")
	c.RunE = func(c *cobra.Command, args []string) error {
		to, err := arguments.Moment("to", *text)
		if err != nil {
			return err
		}

		if to.IsZero() {
			return exit.UsageError("to: must be a time")
		}

		return changeScheduled(s, c, args, func(b *server.Backend, order transitions.OrderID, id scheduled.ID) (scheduled.Request, error) {
			return b.Scheduled.Move(c.Context(), order, id, to)
		})
	}

	return c
}

func scheduledWithdraw(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "withdraw ORDER ID", Short: "End a request that waits, so that it is never applied", Args: cobra.ExactArgs(2),
		Long:    "Ends a request that waits. One that was applied or refused already is not changed.",
		Example: "  ratchet orders scheduled withdraw o-1 0123456789abcdef0123456789abcdef",
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return changeScheduled(s, c, args, func(b *server.Backend, order transitions.OrderID, id scheduled.ID) (scheduled.Request, error) {
			return b.Scheduled.Withdraw(c.Context(), order, id)
		})
	}

	return c
}

// changeScheduled changes a request, and prints the request after the change.
func changeScheduled(s *settings.Settings, c *cobra.Command, args []string, change func(*server.Backend, transitions.OrderID, scheduled.ID) (scheduled.Request, error)) error {
	order, id := transitions.OrderID(args[0]), scheduled.ID(args[1])

	switch err := order.Validate(); {
	case err != nil:
		return err
	case !id.Valid():
		return exit.UsageError("ID %.64q: 32 characters of 0-9 a-f, as `ratchet orders scheduled list` prints them", id)
	}

	return s.With(c.Context(), func(b *server.Backend) error {
		r, err := change(b, order, id)

		// How it has ended says more than that it has.
		if ended, is := errors.AsType[*scheduled.EndedError](err); is {
			r = ended.Request
		} else if err != nil {
			return err
		}

		return errors.Join(printScheduled(c.OutOrStdout(), s.JSON, []scheduled.Request{r}), err)
	})
}

// scheduleRequest places a request for later and prints it.
func scheduleRequest(ctx context.Context, out io.Writer, b *server.Backend, r transitions.Request, at time.Time, asJSON bool) error {
	placed, err := b.Scheduled.Place(ctx, r, at)
	if err != nil {
		return err
	}

	return printScheduled(out, asJSON, []scheduled.Request{placed.Request})
}

func printScheduled(out io.Writer, asJSON bool, all []scheduled.Request) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "AT\tEVENT\tSTATUS\tID\tWHY")
	}

	for _, r := range all {
		if asJSON {
			if err := terminal.PrintJSON(out, r); err != nil {
				return err
			}

			continue
		}

		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", terminal.Stamp(r.At), r.Event, r.Status, r.ID, terminal.OrDash(terminal.OneLine(whyEnded(r))))
	}

	return w.Flush()
}

// whyEnded says in words what has become of a request, "" while it waits.
func whyEnded(r scheduled.Request) string {
	switch {
	case r.Status == scheduled.Applied:
		return fmt.Sprintf("transition %d", r.TransitionID)
	case r.Verdict != 0:
		return fmt.Sprintf("%s: %s", r.Verdict, r.Reason)
	}

	return r.Reason
}
