package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func holdsGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get ACCOUNT HOLD", Short: "Show a hold", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				h, found, err := b.Ledger.Hold(c.Context(), args[0], args[1])
				if err == nil && !found {
					err = fmt.Errorf("hold %s: %w", args[1], exit.ErrNotFound)
				}

				if err != nil {
					return err
				}

				return printHold(c.OutOrStdout(), s.JSON, h)
			})
		},
	}
}
