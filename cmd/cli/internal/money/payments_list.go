package money

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/workflow"
)

func paymentsList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List payments, in no particular order", Args: cobra.NoArgs}
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "how many")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	state := c.Flags().String("state", "", "only those in this state")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Payments.List(c.Context(), workflow.State(*state), *after, *limit)
			if err != nil {
				return err
			}

			if s.JSON {
				return terminal.PrintMore(c.ErrOrStderr(), next, terminal.PrintLines(c.OutOrStdout(), all))
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "payment\torder\tstate\tamount\tcaptured\trefunded\tuncollected\tcurrency\tupdated")

			for _, p := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", p.ID, p.OrderID, p.State, p.Amount, p.Captured, p.Refunded, p.Uncollected, p.Currency, terminal.Stamp(p.UpdatedAt))
			}

			return terminal.PrintMore(c.ErrOrStderr(), next, w.Flush())
		})
	}

	return s.Long(c, "reading payments")
}
