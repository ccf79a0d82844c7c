package money

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
)

func paymentsGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get PAYMENT", Short: "Show a payment and its steps", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				id, err := views.PaymentOf(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				p, err := b.Payments.Get(c.Context(), id)
				if err != nil {
					return err
				}

				return showPayment(s, c.OutOrStdout(), p)
			})
		},
	}
}
