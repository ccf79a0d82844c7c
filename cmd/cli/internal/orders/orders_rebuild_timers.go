package orders

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
)

const rebuildTimersHelp = `Writes the due row of every order that time moves: of orders that are older than the timed transitions
of the definition (after), or than their change, and of orders whose records the stream has lost. ratchet doctor says when that is needed.
And of every request for later (orders apply --at) that waits, after the table of due rows was lost or restored.

It reads the table of orders, if the definition has timed transitions, and that of requests for later. Workers may run meanwhile. It is no job: it acts
on no order, notes its own position, and goes on with what is left when it is repeated. A row that is there already is written again, which changes nothing.`

func ordersRebuildTimers(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{Use: "rebuild-timers", Short: "Write the due rows of orders that time moves", Args: cobra.NoArgs, Long: rebuildTimersHelp, Example: "  ratchet orders rebuild-timers"}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			read := func(n int) { s.Progress.Print("%s read", plural.Of(n, "scheduled request")) }

			found, err := b.RebuildDueRows(c.Context(), read, s.Progress.Orders("read"))
			if err != nil {
				return err
			}

			if s.JSON {
				err = terminal.PrintJSON(c.OutOrStdout(), found)
			} else {
				if found.Resumed {
					fmt.Fprintln(c.OutOrStdout(), "went on after a run that was stopped")
				}
				fmt.Fprintf(c.OutOrStdout(), "%s: time moves %d of them; %d cannot be read; %s\n", plural.Of(found.Orders, "order"), found.Timers, found.Unreadable, plural.Of(found.Scheduled, "scheduled request"))
			}

			if err == nil && found.Unreadable > 0 {
				err = exit.With(exit.Failure, nil)
			}

			return err
		})
	}

	return s.Long(c, "reading the orders")
}
