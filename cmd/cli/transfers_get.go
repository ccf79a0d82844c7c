package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/server"
)

func transfersGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get TRANSFER", Short: "Show a transfer", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				p, found, err := b.Ledger.Transfer(c.Context(), args[0])
				if err == nil && !found {
					err = fmt.Errorf("transfer %s: %w", args[0], errNotFound)
				}

				if err != nil {
					return err
				}

				return printTransfer(c.OutOrStdout(), s.json, p)
			})
		},
	}
}
