package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func transfersGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get TRANSFER", Short: "Show a transfer", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				p, found, err := b.Ledger.Transfer(c.Context(), args[0])
				if err == nil && !found {
					err = fmt.Errorf("transfer %s: %w", args[0], exit.ErrNotFound)
				}

				if err != nil {
					return err
				}

				return printTransfer(c.OutOrStdout(), s.JSON, p)
			})
		},
	}
}
