package money

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/payments"
)

// paymentsStep returns the command for capture or refund. With final it has the flag --final.
func paymentsStep(
	s *settings.Settings,
	verb, short string,
	do func(*payments.Payments, context.Context, string, payments.StepRequest) (payments.Payment, error),
	final bool,
) *cobra.Command {
	c := &cobra.Command{Use: verb + " PAYMENT STEP", Short: short, Args: cobra.ExactArgs(2),
		Long: short + ".\nSTEP names the step: a repeat with the same name changes nothing."}
	request := payments.StepRequest{}
	c.Flags().Int64Var(&request.Amount, "amount", 0, views.AmountFlag)

	if final {
		c.Flags().BoolVar(&request.Final, "final", false, "this is the last capture: release the rest of the authorization")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := views.NeedAmount(c); err != nil {
			return err
		}

		request.ID = args[1]
		if err := request.Validate(); err != nil {
			return err
		}

		return stepOf(s, c, args[0], func(ctx context.Context, p *payments.Payments, id string) (payments.Payment, error) {
			return do(p, ctx, id, request)
		})
	}

	return c
}
