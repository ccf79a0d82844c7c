package money

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/payments"
)

func paymentsVoid(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "void PAYMENT", Short: "Release the part of the authorization that was not captured", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return stepOf(s, c, args[0], func(ctx context.Context, p *payments.Payments, id string) (payments.Payment, error) {
				return p.Void(ctx, id)
			})
		},
	}
}
