package orders

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/transitions"
)

func ordersHistory(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "history ORDER", Short: "Show every transition of an order, from its journal", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				// The order's own position shows whether the journal is complete.
				order, err := getOrder(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				rows, err := b.Orders.History(c.Context(), order.ID, 0, 0)
				if err != nil {
					return err
				}

				return printHistory(c.OutOrStdout(), c.ErrOrStderr(), s.JSON, rows, order)
			})
		},
	}
}

// printHistory prints the transitions, and a note if the journal is behind the order.
func printHistory(out, notes io.Writer, asJSON bool, rows []transitions.Transition, order *transitions.Order) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "ID\tEVENT\tFROM\tTO\tAT")
	}

	var last transitions.TransitionID
	for _, t := range rows {
		last = t.ID
		if asJSON {
			if err := terminal.PrintJSON(out, t); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", t.ID, t.Event, t.From, t.To, terminal.Stamp(t.At))
	}

	// Only a note: a journal that the stream writes lags for a moment after each transition.
	if last < order.TransitionID {
		fmt.Fprintf(notes, "the journal is behind: it ends at transition %d, the order is at %d\n", last, order.TransitionID)
	}

	return w.Flush()
}
