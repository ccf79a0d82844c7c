package main

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/payments"
)

func paymentsGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get PAYMENT", Short: "Show a payment and its steps", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.payment(c, func(ctx context.Context, p *payments.Payments) (payments.Payment, error) {
				return p.Get(ctx, args[0])
			})
		},
	}
}
