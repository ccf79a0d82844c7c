package cli

import (
	"github.com/spf13/cobra"

	"ratchet/server"
)

func transfersList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List transfers, in no particular order", Args: cobra.NoArgs}
	limit := limitFlag(c.Flags(), 100, 1_000, "how many")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Ledger.Transfers(c.Context(), *after, *limit)
			if err != nil {
				return err
			}

			if s.json {
				return printMore(c.ErrOrStderr(), next, printLines(c.OutOrStdout(), all))
			}

			for _, p := range all {
				if err := printTransfer(c.OutOrStdout(), false, p); err != nil {
					return err
				}
			}

			return printMore(c.ErrOrStderr(), next, nil)
		})
	}

	return c
}
