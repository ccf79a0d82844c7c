package orders

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/transitions/lists"
)

const rebuildListsHelp = `Makes the lists of orders (the setting order-lists) show every order as it is, and nothing
else: also after a gap of the stream, after orders were deleted or placed again while the lists
were off, or after a restore of one of the tables. Prints what it has corrected.

It reads both tables. Workers may run meanwhile, but only with order-lists: changes that a worker
handles without it are missing in the lists, so the command fails then. It may be stopped and
repeated; it goes on with what is left.

Workers with order-lists do the same by themselves while the lists are not ready.`

func ordersRebuildLists(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{Use: "rebuild-lists", Short: "Correct the lists of orders", Args: cobra.NoArgs, Long: rebuildListsHelp, Example: "  ratchet orders rebuild-lists"}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			if b.Lists == nil {
				return exit.UsageError("there are no lists: the setting order-lists is off")
			}
			seen := s.Progress.Orders("compared")

			found, err := b.Lists.Rebuild(c.Context(), func(r lists.Rebuilt) { seen(r.Orders) })
			if err != nil {
				return err
			}

			if s.JSON {
				err = terminal.PrintJSON(c.OutOrStdout(), rebuiltLists{
					found.Orders, found.Corrected, found.Gone, found.Rows, found.Unreadable, found.Names, found.Resumed,
				})
			} else {
				printRebuiltLists(c.OutOrStdout(), found)
			}

			if err == nil && found.Unreadable > 0 {
				err = exit.With(exit.Failure, nil)
			}

			return err
		})
	}

	return s.Long(c, "comparing the lists")
}

// rebuiltLists is lists.Rebuilt as JSON.
type rebuiltLists struct {
	Orders     int                   `json:"orders"`
	Corrected  int                   `json:"corrected"`
	Gone       int                   `json:"gone"`
	Rows       int                   `json:"rows"`
	Unreadable int                   `json:"unreadable"`
	Names      []transitions.OrderID `json:"unreadableOrders,omitempty"`
	Resumed    bool                  `json:"resumed,omitempty"`
}

func printRebuiltLists(out io.Writer, r lists.Rebuilt) {
	if r.Resumed {
		fmt.Fprintln(out, "went on after a run that was stopped")
	}
	fmt.Fprintf(out, "%s: %d corrected, %d deleted ones and %s of others removed\n", plural.Of(r.Orders, "order"), r.Corrected, r.Gone, plural.Of(r.Rows, "row"))

	if r.Unreadable > 0 {
		fmt.Fprintf(out, "%s cannot be read and are not listed: %v\n", plural.Of(r.Unreadable, "order"), r.Names)
	}
}
