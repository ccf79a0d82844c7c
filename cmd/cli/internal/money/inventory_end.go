package money

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/once/inventory"
	"ratchet/server"
)

// inventoryEnd returns a command that ends a reservation: commit or release.
func inventoryEnd(s *settings.Settings, verb, short string, end func(*inventory.Stock, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ORDER", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				name, err := views.ReservationOf(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				if err := end(b.Stock, c.Context(), name); err != nil {
					return err
				}

				return printReservation(s, c, b, name)
			})
		},
	}
}
