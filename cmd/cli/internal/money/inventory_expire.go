package money

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
)

func inventoryExpire(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "expire", Short: "Make the pieces of expired reservations available again", Args: cobra.NoArgs,
		Long: "Does once what every worker does every minute, and prints how many reservations had expired.",
	}
	limit := arguments.LimitFlag(c.Flags(), 1000, 100_000, "at most this many")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			n, err := b.Stock.ExpireDue(c.Context(), *limit)
			// The count is printed also after an error.
			if s.JSON {
				return errors.Join(terminal.PrintJSON(c.OutOrStdout(), map[string]int{"expired": n}), err)
			}
			_, printed := fmt.Fprintf(c.OutOrStdout(), "%s had ended\n", plural.Of(n, "reservation"))

			return errors.Join(printed, err)
		})
	}

	return s.Long(c, "ending reservations")
}
