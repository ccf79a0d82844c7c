package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/server"
)

func inventoryShow(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "show ORDER", Short: "Show an order's reservation", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				name, err := reservationOf(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				r, found, err := b.Stock.Reservation(c.Context(), name)
				switch {
				case err != nil:
					return err
				case !found:
					return fmt.Errorf("reservation of order %s: %w", args[0], errNotFound)
				case s.json:
					return printJSON(c.OutOrStdout(), r)
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintf(w, "order\t%s\nstatus\t%s\n", r.Order, r.Status)

				if !r.ExpiresAt.IsZero() {
					fmt.Fprintf(w, "until\t%s\n", stamp(r.ExpiresAt))
				}

				for _, l := range r.Lines {
					fmt.Fprintf(w, "line\t%d x %s\n", l.Quantity, l.SKU)
				}

				return w.Flush()
			})
		},
	}
}
