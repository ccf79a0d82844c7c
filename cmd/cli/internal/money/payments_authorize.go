package money

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/payments"
	"ratchet/server"
)

func paymentsAuthorize(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "authorize PAYMENT", Short: "Start a payment: hold the amount in the ledger and authorize it at the processor", Args: cobra.ExactArgs(1),
		Long: "Starts a payment. A repeat continues where the payment stopped, or prints the payment.",
	}
	n := payments.NewPayment{}
	c.Flags().StringVar(&n.OrderID, "order", "", "order that is paid")
	c.Flags().StringVar(&n.Payer, "payer", "", "account that pays")
	c.Flags().StringVar(&n.Payee, "payee", "", "account that receives the captures")
	c.Flags().Int64Var(&n.Amount, "amount", 0, views.AmountFlag)
	c.Flags().StringVar(&n.Currency, "currency", "EUR", "ISO 4217 code")
	expires := c.Flags().String("expires-at", "", "when the amount that was not captured is released (RFC 3339); default: never")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		n.ID = args[0]

		wrong := []error{views.NeedAmount(c)}
		for name, rule := range map[string]string{"order": "the id of the order that is paid", "payer": "the account that pays", "payee": "the account that receives"} {
			if c.Flags().Lookup(name).Value.String() == "" {
				wrong = append(wrong, fmt.Errorf("%s: must be %s", name, rule))
			}
		}
		// An expiry must be fixed: a repeat compares the whole payment.
		if *expires != "" {
			if n.ExpiresAt, err = time.Parse(time.RFC3339, *expires); err != nil {
				wrong = append(wrong, fmt.Errorf("expires-at %q: must be a time like 2026-12-24T18:00:00Z", *expires))
			}
		}

		slices.SortFunc(wrong[1:], func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })

		if err := exit.Wrong(wrong...); err != nil {
			return err
		}

		if err := n.Validate(); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			return atBank(s, c, b, func(ctx context.Context, p *payments.Payments) (payments.Payment, error) {
				return p.Authorize(ctx, n)
			})
		})
	}

	return c
}
