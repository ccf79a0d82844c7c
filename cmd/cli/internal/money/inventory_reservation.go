package money

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
)

func inventoryReservation(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get-reservation ORDER", SuggestFor: []string{"show"}, Short: "Show an order's reservation", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				name, err := views.ReservationOf(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				r, found, err := b.Stock.Reservation(c.Context(), name)
				switch {
				case err != nil:
					return err
				case !found:
					return fmt.Errorf("reservation of order %s: %w", args[0], exit.ErrNotFound)
				case s.JSON:
					return terminal.PrintJSON(c.OutOrStdout(), r)
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintf(w, "order\t%s\nstatus\t%s\n", r.Order, r.Status)

				if !r.ExpiresAt.IsZero() {
					fmt.Fprintf(w, "until\t%s\n", terminal.Stamp(r.ExpiresAt))
				}

				for _, l := range r.Lines {
					fmt.Fprintf(w, "line\t%d x %s\n", l.Quantity, l.SKU)
				}

				return w.Flush()
			})
		},
	}
}
