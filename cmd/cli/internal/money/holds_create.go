package money

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/once/ledger"
	"ratchet/server"
)

func holdsCreate(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create ACCOUNT HOLD", Short: "Reserve money, once", Args: cobra.ExactArgs(2),
		Long: "Reserves money of an account. `ratchet transfers create --hold` spends it. `holds release`\n" +
			"makes it available again, and so do workers after --expires-in.",
	}
	amount := c.Flags().Int64("amount", 0, views.AmountFlag)
	currency := c.Flags().String("currency", "EUR", "ISO 4217 code")
	expires := c.Flags().Duration("expires-in", 0, "how long it lasts, like 48h; 0: until it is spent or released")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := views.NeedAmount(c); err != nil {
			return err
		}

		if *expires < 0 {
			return exit.UsageError("expires-in %s: must not be negative", *expires)
		}

		n := ledger.NewHold{Account: args[0], ID: args[1], Amount: *amount, Currency: *currency, ExpiresAt: arguments.FromNow(*expires)}
		if err := n.Validate(); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			h, _, err := b.Ledger.Reserve(c.Context(), n)
			if err != nil {
				return err
			}

			return printHold(c.OutOrStdout(), s.JSON, h)
		})
	}

	return c
}
