package money

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once/inventory"
	"ratchet/server"
)

func inventorySet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "set SKU PIECES", Short: "Set the number of available pieces of a SKU", Args: cobra.ExactArgs(2),
		Long: "Sets the available pieces. Reserved and committed pieces do not change.",
		RunE: func(c *cobra.Command, args []string) error {
			pieces, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || pieces < 0 || pieces > inventory.MaxQuantity {
				return exit.UsageError("pieces %q: must be a whole number, 0 to %d", args[1], inventory.MaxQuantity)
			}

			return s.With(c.Context(), func(b *server.Backend) error {
				if err := b.Stock.Set(c.Context(), args[0], pieces); err != nil {
					return err
				}

				// The level after the change, with the pieces that are reserved now.
				l, _, err := b.Stock.Level(c.Context(), args[0])
				switch {
				case err != nil:
					return err
				case s.JSON:
					return terminal.PrintJSON(c.OutOrStdout(), l)
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d available, %d reserved, %d committed\n", l.SKU, l.Available, l.Reserved, l.Committed)

				return err
			})
		},
	}
}
