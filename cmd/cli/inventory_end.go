package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/once/inventory"
	"ratchet/server"
)

// inventoryEnd returns a command that ends a reservation: commit or release.
func inventoryEnd(s *settings, verb, short string, end func(*inventory.Stock, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ORDER", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				name, err := reservationOf(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				if err := end(b.Stock, c.Context(), name); err != nil {
					return err
				}

				return s.printReservation(c, b, name)
			})
		},
	}
}
