package money

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func holdsRelease(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "release ACCOUNT HOLD", Short: "Make the rest of a hold available again", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				h, err := b.Ledger.Release(c.Context(), args[0], args[1])
				if err != nil {
					return err
				}

				return printHold(c.OutOrStdout(), s.JSON, h)
			})
		},
	}
}
