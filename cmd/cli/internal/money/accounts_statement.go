package money

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

func accountsStatement(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "statement ACCOUNT", Short: "List the entries of an account, oldest first", Args: cobra.ExactArgs(1),
		Long: "Lists the entries of an account with the balance after each. The entries of a sharded account\n" +
			"are listed shard by shard.",
	}
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "how many")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			entries, next, err := b.Ledger.Statement(c.Context(), args[0], *after, *limit)
			if err != nil {
				return err
			}

			if s.JSON {
				return terminal.PrintMore(c.ErrOrStderr(), next, terminal.PrintLines(c.OutOrStdout(), entries))
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "entry\tat\tamount\tbalance\ttransfer")

			for _, e := range entries {
				fmt.Fprintf(w, "%d.%d\t%s\t%d\t%d\t%s\n", e.Shard, e.Sequence, terminal.Stamp(e.At), e.Amount, e.Balance, e.TransferID)
			}

			return terminal.PrintMore(c.ErrOrStderr(), next, w.Flush())
		})
	}

	return c
}
