package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func accountsClose(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "close ACCOUNT", Short: "Close an empty account permanently", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				if err := b.Ledger.CloseAccount(c.Context(), args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "account %s is closed\n", args[0])

				return err
			})
		},
	}
}
