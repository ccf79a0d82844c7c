package cli

import (
	"github.com/spf13/cobra"

	"ratchet/server"
)

func paymentsGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get PAYMENT", Short: "Show a payment and its steps", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				id, err := paymentOf(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				p, err := b.Payments.Get(c.Context(), id)
				if err != nil {
					return err
				}

				return s.showPayment(c.OutOrStdout(), p)
			})
		},
	}
}
