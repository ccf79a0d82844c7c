package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/workflow"
)

func paymentsList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List payments, in no particular order", Args: cobra.NoArgs}
	limit := limitFlag(c.Flags(), 100, 1_000, "how many")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	state := c.Flags().String("state", "", "only those in this state")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Payments.List(c.Context(), workflow.State(*state), *after, *limit)
			if err != nil {
				return err
			}

			if s.json {
				return printMore(c.ErrOrStderr(), next, printLines(c.OutOrStdout(), all))
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "payment\torder\tstate\tamount\tcaptured\trefunded\tuncollected\tcurrency\tupdated")

			for _, p := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", p.ID, p.OrderID, p.State, p.Amount, p.Captured, p.Refunded, p.Uncollected, p.Currency, stamp(p.UpdatedAt))
			}

			return printMore(c.ErrOrStderr(), next, w.Flush())
		})
	}

	return s.long(c, "reading payments")
}
