package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once/ledger"
	"ratchet/server"
)

func accountsCreate(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create ACCOUNT", Short: "Open an account", Args: cobra.ExactArgs(1),
		Long: "Opens an account. Repeating the command with the same content changes nothing.\n\n" +
			"Side credit is for liabilities (what is owed to customers and merchants), debit for assets\n" +
			"(cash, claims). Without --overdraft the balance cannot change its side; accounts that stand for\n" +
			"the outside (a bank, a processor's clearing account) need --overdraft. --shards spreads the\n" +
			"writes of a busy account.",
	}
	currency := c.Flags().String("currency", "EUR", "ISO 4217 code")
	side := c.Flags().String("side", string(ledger.Credit), "credit or debit")
	overdraft := c.Flags().Bool("overdraft", false, "the balance may be on either side")
	shards := c.Flags().Int("shards", 1, "items that the balance is spread over, 1 to 16")
	c.RunE = func(c *cobra.Command, args []string) error {
		n := ledger.NewAccount{ID: args[0], Currency: *currency, Side: ledger.Side(*side), Overdraft: *overdraft, Shards: *shards}
		if err := n.Validate(); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			a, replayed, err := b.Ledger.CreateAccount(c.Context(), n)
			if err != nil {
				return err
			}

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), struct {
					ledger.Account
					Replayed bool `json:"replayed"`
				}{a, replayed})
			}
			word := map[bool]string{false: "Opened", true: "Replayed"}[replayed]
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: account %s in %s\n", word, a.ID, a.Currency)

			return err
		})
	}

	return c
}
