package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/server"
)

func accountsGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get ACCOUNT", Short: "Show an account", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				a, found, err := b.Ledger.Account(c.Context(), args[0])
				switch {
				case err != nil:
					return err
				case !found:
					return fmt.Errorf("account %s: %w", args[0], errNotFound)
				case s.json:
					return printJSON(c.OutOrStdout(), a)
				}

				return printAccounts(c.OutOrStdout(), a)
			})
		},
	}
}
