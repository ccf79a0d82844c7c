package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/payments"
	"ratchet/server"
)

func paymentsCommand(s *settings) *cobra.Command {
	return group("payments", "Authorize, capture and refund money at the sandbox processor",
		paymentsAuthorize(s), paymentsStep(s, "capture", "Capture a part of the authorized amount, or all of it", (*payments.Payments).Capture, true),
		paymentsStep(s, "refund", "Refund a part of the captured amount, or all of it", (*payments.Payments).Refund, false),
		paymentsVoid(s), paymentsGet(s), paymentsList(s), paymentsRecover(s), paymentsParked(s), paymentsReport(s))
}

// payment runs fn and prints the payment that it returns, also if fn fails.
func (s *settings) payment(c *cobra.Command, fn func(context.Context, *payments.Payments) (payments.Payment, error)) error {
	return s.with(c.Context(), func(b *server.Backend) error {
		p, err := fn(c.Context(), b.Payments)
		if p.ID != "" {
			if s.json {
				if printErr := printJSON(c.OutOrStdout(), p); printErr != nil {
					return printErr
				}
			} else {
				printPayment(c.OutOrStdout(), p)
			}
		}

		return err
	})
}

// printPayment prints a payment and its steps, the open one last.
func printPayment(out io.Writer, p payments.Payment) {
	uncollected := ""
	if p.Uncollected > 0 {
		uncollected = fmt.Sprintf(", not collected %d", p.Uncollected)
	}
	fmt.Fprintf(out, "payment %s for order %s is %s: %d %s, captured %d, refunded %d%s\n", p.ID, p.OrderID, p.State, p.Amount, p.Currency, p.Captured, p.Refunded, uncollected)

	steps := p.Steps
	if p.Pending != nil {
		steps = append(steps, *p.Pending)
	}

	for _, step := range steps {
		reason := ""
		if step.Reason != "" {
			reason = " (" + step.Reason + ")"
		}
		fmt.Fprintf(out, "  %s  %s %s %d: %s%s\n", stamp(step.At), step.Kind, step.ID, step.Amount, step.Outcome, reason)
	}
}
