package money

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/once/ledger"
	"ratchet/server"
)

func transfersCreate(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create TRANSFER", Short: "Make a transfer, once", Args: cobra.ExactArgs(1),
		Long: "Moves money, all legs in one transaction. Repeating the command prints the existing transfer;\n" +
			"other content under the id is refused.\n\n" +
			"  ratchet transfers create t-1 --from alice --to bob --amount 1250\n" +
			"  ratchet transfers create t-2 --leg alice:-1000 --leg shop:970 --leg fees:30",
	}
	from := c.Flags().String("from", "", "account that is debited")
	to := c.Flags().String("to", "", "account that is credited")
	amount := c.Flags().Int64("amount", 0, views.AmountFlag)
	legs := c.Flags().StringArray("leg", nil, "ACCOUNT:AMOUNT, negative for a debit; instead of --from, --to and --amount; repeat for more")
	hold := c.Flags().String("hold", "", "hold of the account --from that pays")
	release := c.Flags().Bool("release", false, "make the rest of the hold available again")
	currency := c.Flags().String("currency", "EUR", "ISO 4217 code")
	reference := c.Flags().String("reference", "", "purpose, like an order number")
	c.RunE = func(c *cobra.Command, args []string) error {
		// A transfer has at least two legs; --from and --to are the common case.
		t := ledger.Move(args[0], *from, *to, *amount, *currency)
		t.Legs[0].Hold, t.Legs[0].Release, t.Reference = *hold, *release, *reference
		if len(*legs) > 0 {
			if *from != "" || *to != "" || *amount != 0 || *hold != "" {
				return exit.UsageError("use --leg instead of --from, --to, --amount and --hold")
			}

			var err error
			if t.Legs, err = parseLegs(*legs); err != nil {
				return err
			}
		} else if err := views.NeedAmount(c); err != nil {
			return err
		}

		if err := t.Validate(); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			posted, err := b.Ledger.Post(c.Context(), t)
			if err != nil {
				return err
			}

			return printTransfer(c.OutOrStdout(), s.JSON, posted)
		})
	}

	return c
}

func parseLegs(texts []string) (legs []ledger.Leg, err error) {
	for _, text := range texts {
		// The last colon, because an account's name may contain colons.
		at := strings.LastIndex(text, ":")
		amount, err := strconv.ParseInt(text[at+1:], 10, 64)
		if at < 0 || err != nil {
			return nil, exit.UsageError("leg %q: must be ACCOUNT:AMOUNT", text)
		}
		legs = append(legs, ledger.Leg{Account: text[:at], Amount: amount})
	}

	return legs, nil
}
