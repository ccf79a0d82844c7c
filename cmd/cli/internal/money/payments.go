package money

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/payments"
	"ratchet/server"
)

func paymentsCommand(s *settings.Settings) *cobra.Command {
	var all []*cobra.Command

	// These commands reach the processor, so they take its settings; the others read tables only.
	atBank := s.PrintsJSON(
		paymentsAuthorize(s),
		paymentsStep(s, "capture", "Capture a part of the authorized amount, or all of it", (*payments.Payments).Capture, true),
		paymentsStep(s, "refund", "Refund a part of the captured amount, or all of it", (*payments.Payments).Refund, false),
		paymentsVoid(s),
		paymentsRecover(s),
	)
	for _, c := range append(atBank, paymentsReport(s)) {
		all = append(all, s.Takes(c, settings.BankFlags))
	}

	all = append(all, s.PrintsJSON(paymentsGet(s), paymentsList(s), paymentsParked(s))...)

	c := settings.Group("payments", "Authorize, capture and refund money at the bank", all...)
	c.Long = paymentsHelp

	return c
}

const paymentsHelp = `Authorize, capture and refund money at the bank.

The payment of an order has the id that its life gives it, ` + "`orderId.incarnation`" + `. get, capture, refund and
void take the plain id of the order, too, if no payment has it as its id: it means the payment of the order's
present life.`

// stepOf runs fn, as atBank, with the id of the payment that the argument means.
func stepOf(s *settings.Settings, c *cobra.Command, arg string, fn func(context.Context, *payments.Payments, string) (payments.Payment, error)) error {
	return s.With(c.Context(), func(b *server.Backend) error {
		id, err := views.PaymentOf(c.Context(), b, arg)
		if err != nil {
			return err
		}

		return atBank(s, c, b, func(ctx context.Context, p *payments.Payments) (payments.Payment, error) {
			return fn(ctx, p, id)
		})
	})
}

// atBank runs fn, which may call the bank, and prints the payment that fn returns, also if fn fails.
func atBank(s *settings.Settings, c *cobra.Command, b *server.Backend, fn func(context.Context, *payments.Payments) (payments.Payment, error)) error {
	// Checked before any step: without a bank the payment would stay open.
	if err := b.CheckBank(); err != nil {
		return err
	}

	p, err := fn(c.Context(), b.Payments)

	// A payment that was refused or interrupted has a state that the user must see.
	return errors.Join(showPayment(s, c.OutOrStdout(), p), err)
}

// showPayment prints a payment, if there is one.
func showPayment(s *settings.Settings, out io.Writer, p payments.Payment) error {
	switch {
	case p.ID == "":
		return nil
	case s.JSON:
		return terminal.PrintJSON(out, p)
	}
	printPayment(out, p)

	return nil
}

// printPayment prints a payment and its steps, the open one last.
func printPayment(out io.Writer, p payments.Payment) {
	uncollected := ""
	if p.Uncollected > 0 {
		uncollected = fmt.Sprintf(", not collected %d", p.Uncollected)
	}
	fmt.Fprintf(out, "payment %s for order %s is %s: %d %s, captured %d, refunded %d%s\n", p.ID, p.OrderID, p.State, p.Amount, p.Currency, p.Captured, p.Refunded, uncollected)

	steps := p.Steps
	// The open step has no outcome yet, and stands last.
	if p.Pending != nil {
		steps = append(steps, *p.Pending)
	}

	for _, step := range steps {
		reason := ""
		if step.Reason != "" {
			reason = " (" + step.Reason + ")"
		}
		fmt.Fprintf(out, "  %s  %s %s %d: %s%s\n", terminal.Stamp(step.At), step.Kind, step.ID, step.Amount, step.Outcome, reason)
	}
}
