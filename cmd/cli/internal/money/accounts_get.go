package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

func accountsGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get ACCOUNT", Short: "Show an account", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				a, found, err := b.Ledger.Account(c.Context(), args[0])
				switch {
				case err != nil:
					return err
				case !found:
					return fmt.Errorf("account %s: %w", args[0], exit.ErrNotFound)
				case s.JSON:
					return terminal.PrintJSON(c.OutOrStdout(), a)
				}

				return printAccounts(c.OutOrStdout(), a)
			})
		},
	}
}
