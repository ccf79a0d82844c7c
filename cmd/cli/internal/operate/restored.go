package operate

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
)

const restoredHelp = `Makes tables fit together that were restored to earlier times, each to a moment of its own. Nothing may run
meanwhile: it refuses while a worker or an API server does. In this order it

  - creates the tables that were not restored, and switches on streams and times to live, which a
    restored table comes without
  - removes what the table of leases says of former streams
  - verifies the ledger, and the payments against it: their tables must be of one moment
  - brings orders forward that are behind their journals, and writes the rows that journals lack
  - asks the bank for payments that the tables lack, and the carrier for shipments; what they have
    done is noted under the keys of then, and moves the orders
  - reserves missing pieces of paid orders
  - gives every order a new incarnation, see ` + "`ratchet orders renew`" + `
  - ends notifications and records that wait for transitions which the orders have not made any more
  - gives the stream's handlers the changes that the orders prove, from a day before --earliest on
  - rebuilds the rows of timers and the lists of orders
  - starts an execution of every order that can still move

It may be stopped and repeated with the same --earliest. An order that it cannot repair stays as it is and is
listed; repeat the command when you have decided about it. docs/operate/runbooks/tables-restored.md has all steps.`

func restoredCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "restored --earliest TIME", Short: "Make tables fit together that were restored to earlier times", Args: cobra.NoArgs,
		Long:    restoredHelp,
		Example: "  ratchet restored --earliest 2026-01-31T12:00:00Z --dry-run",
	}
	earliest := c.Flags().String("earliest", "", "the earliest of the times to which the tables were restored, like 2026-01-31T12:00:00Z")
	dryRun := c.Flags().Bool("dry-run", false, "only count")

	c.RunE = func(c *cobra.Command, _ []string) error {
		// A duration would be another time in the next call, which then would not go on with this one.
		at, err := time.Parse(time.RFC3339, *earliest)
		if err != nil || at.After(time.Now()) {
			return exit.UsageError("earliest %q: a time that has passed, like 2026-01-31T12:00:00Z", *earliest)
		}

		if err := s.CheckWorkflow(); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			done, err := b.Restored(c.Context(), server.Restoration{Earliest: at, DryRun: *dryRun, Progress: s.Progress.Orders("read")})
			if errors.Is(err, server.ErrRunning) || errors.Is(err, server.ErrMoney) {
				return exit.With(exit.Refused, err)
			}

			// Printed also after an error: what was repaired stays repaired.
			var printed error
			if s.JSON {
				printed = terminal.PrintJSON(c.OutOrStdout(), done)
			} else {
				printed = printRestored(c.OutOrStdout(), done)
			}

			switch {
			case err != nil:
				return fmt.Errorf("%w; to go on: ratchet restored --earliest %s", err, at.Format(time.RFC3339))
			case printed == nil && len(done.Left)+done.Money > 0:
				return exit.With(exit.Failure, nil)
			}

			return printed
		})
	}

	return s.Long(c, "repairing restored tables")
}

func printRestored(out io.Writer, done server.Restored) error {
	if done.DryRun {
		fmt.Fprintln(out, "dry run: nothing was changed; later steps count what is there before the earlier ones")
	}

	for _, what := range done.Tables {
		fmt.Fprintln(out, what)
	}

	lines := []struct {
		n    int
		what string
	}{
		{done.Leases, "removed from the table of leases: rows of former streams"},
		{done.Money, "contradictions of the ledger and the payments: see `ratchet ledger verify`"},
		{done.Orders, "orders read"},
		{done.Forward, "orders brought to the ends of their journals"},
		{done.Filled, "orders whose journals were completed"},
		{done.Lost, "orders with lost rows, whose journals were closed"},
		{done.Payments, "payments that only the bank knew"},
		{done.Moved, "orders moved by what the bank and the carrier have done"},
		{done.Reserved, "orders whose pieces were reserved again"},
		{done.Renewed, "orders with a new incarnation"},
		{done.Deliveries, "notifications ended that waited for forgotten transitions"},
		{done.Changes, "records of forgotten transitions removed"},
		{done.Queued, "changes queued for the handlers of the stream"},
		{done.Executions, "executions started"},
	}
	for _, line := range lines {
		if line.n > 0 {
			fmt.Fprintf(out, "%7d %s\n", line.n, line.what)
		}
	}

	for _, left := range done.Left {
		fmt.Fprintf(out, "left: order %s: %s\n", left.OrderID, left.Reason)
	}

	text := "every order is repaired\n"
	if len(done.Left) > 0 {
		text = plural.Of(len(done.Left), "order") + " left: decide, and repeat the command\n"
	}
	_, err := io.WriteString(out, text)

	return err
}
