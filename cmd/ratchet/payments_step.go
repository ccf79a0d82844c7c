package main

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/payments"
)

func paymentsStep(s *settings, verb, short string, do func(*payments.Payments, context.Context, string, payments.StepRequest) (payments.Payment, error), final bool) *cobra.Command {
	c := &cobra.Command{Use: verb + " PAYMENT STEP", Short: short, Args: cobra.ExactArgs(2),
		Long: short + ".\nSTEP names it: repeating the command with the same one changes nothing."}
	ask := payments.StepRequest{}
	c.Flags().Int64Var(&ask.Amount, "amount", 0, amountFlag)

	if final {
		c.Flags().BoolVar(&ask.Final, "final", false, "it is the last: give the rest up")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := needAmount(c); err != nil {
			return err
		}

		ask.ID = args[1]
		if err := ask.Validate(); err != nil {
			return err
		}

		return s.payment(c, func(ctx context.Context, p *payments.Payments) (payments.Payment, error) {
			return do(p, ctx, args[0], ask)
		})
	}

	return c
}
