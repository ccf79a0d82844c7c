package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/payments"
	"ratchet/server"
	"ratchet/workflow"
)

func paymentsCommand(s *settings) *cobra.Command {
	return group("payments", "Take and return money at the processor (here the sandbox)",
		paymentsAuthorize(s), paymentsStep(s, "capture", "Take a part of what is authorized, or all of it", (*payments.Payments).Capture, true),
		paymentsStep(s, "refund", "Give a part of what was captured back, or all of it", (*payments.Payments).Refund, false),
		paymentsVoid(s), paymentsGet(s), paymentsList(s), paymentsRecover(s), paymentsParked(s), paymentsReport(s))
}

func paymentsAuthorize(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "authorize PAYMENT", Short: "Open a payment: set the amount aside and ask the processor to hold it", Args: cobra.ExactArgs(1),
		Long: "Opens a payment. Repeating the command goes on where it stopped, or prints the payment.",
	}
	n := payments.NewPayment{}
	c.Flags().StringVar(&n.OrderID, "order", "", "order that is paid for")
	c.Flags().StringVar(&n.Payer, "payer", "", "account that the money comes from")
	c.Flags().StringVar(&n.Payee, "payee", "", "account that captures go to")
	c.Flags().Int64Var(&n.Amount, "amount", 0, amountFlag)
	c.Flags().StringVar(&n.Currency, "currency", "EUR", "ISO 4217 code")
	expires := c.Flags().String("expires-at", "", "when what was not captured is given up (RFC 3339); default: never")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if err := needAmount(c); err != nil {
			return err
		}

		n.ID = args[0]
		if *expires != "" {
			if n.ExpiresAt, err = time.Parse(time.RFC3339, *expires); err != nil {
				return usageError("expires-at %q: must be a time like 2026-12-24T18:00:00Z", *expires)
			}
		}

		if err := n.Validate(); err != nil {
			return err
		}

		return s.payment(c, func(ctx context.Context, p *payments.Payments) (payments.Payment, error) { return p.Authorize(ctx, n) })
	}

	return c
}

// payment runs fn and prints the payment that it leaves, also when it was refused.
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

func printPayment(out io.Writer, p payments.Payment) {
	fmt.Fprintf(out, "payment %s for order %s is %s: %d %s, captured %d, refunded %d\n", p.ID, p.OrderID, p.State, p.Amount, p.Currency, p.Captured, p.Refunded)

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

func paymentsVoid(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "void PAYMENT", Short: "Give up what was authorized and not captured", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.payment(c, func(ctx context.Context, p *payments.Payments) (payments.Payment, error) { return p.Void(ctx, args[0]) })
		},
	}
}

func paymentsGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get PAYMENT", Short: "Show a payment and its steps", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.payment(c, func(ctx context.Context, p *payments.Payments) (payments.Payment, error) { return p.Get(ctx, args[0]) })
		},
	}
}

func paymentsList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List payments, in no useful order", Args: cobra.NoArgs}
	limit := c.Flags().Int("limit", 100, "how many, 1 to 1000")
	after := c.Flags().String("after", "", "the next of the page before")
	state := c.Flags().String("state", "", "only those in this state")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Payments.List(c.Context(), workflow.State(*state), *after, *limit)
			if err != nil {
				return err
			}

			if s.json {
				return printJSON(c.OutOrStdout(), map[string]any{"payments": all, "next": next})
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "payment\torder\tstate\tamount\tcaptured\trefunded\tcurrency\tupdated")

			for _, p := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", p.ID, p.OrderID, p.State, p.Amount, p.Captured, p.Refunded, p.Currency, stamp(p.UpdatedAt))
			}

			return printMore(c.ErrOrStderr(), next, w.Flush())
		})
	}

	return c
}

func paymentsRecover(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "recover", Short: "End steps that a worker has left in the middle, and give up what has expired", Args: cobra.NoArgs,
		Long: "What `ratchet worker` does every 15 s, once. Exit status 1 when a step could not be ended.",
		RunE: func(c *cobra.Command, _ []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				var total payments.Recovered
				pace := newPacer(c.ErrOrStderr())
				for after := ""; ; {
					r, err := b.Payments.Recover(c.Context(), after, 500)
					total.Finished, total.Expired, total.Left = total.Finished+r.Finished, total.Expired+r.Expired, append(total.Left, r.Left...)

					if err != nil {
						return err
					}
					pace.tell("%d steps ended, %d authorizations expired, %d left", total.Finished, total.Expired, len(total.Left))

					if after = r.Next; after == "" {
						return printRecovered(c.OutOrStdout(), s.json, total)
					}
				}
			})
		},
	}
}

func printRecovered(out io.Writer, asJSON bool, r payments.Recovered) (err error) {
	if asJSON {
		err = printJSON(out, r)
	} else {
		for _, left := range r.Left {
			fmt.Fprintf(out, "payment %s: %s\n", left.PaymentID, left.Reason)
		}
		_, err = fmt.Fprintf(out, "%d steps ended, %d authorizations expired, %d left\n", r.Finished, r.Expired, len(r.Left))
	}

	if err == nil && len(r.Left) > 0 {
		err = &statusError{exitFailure, nil}
	}

	return err
}

func paymentsParked(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "parked", Short: "List callbacks of the processor that fit no payment", Args: cobra.NoArgs,
		Long: "Lists callbacks that were signed and do not fit: an unknown payment, another amount, another\n" +
			"state. Exit status 1 when there are any."}
	limit := c.Flags().Int("limit", 100, "how many, 1 to 1000")
	after := c.Flags().String("after", "", "the next of the page before")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Payments.Parked(c.Context(), *after, *limit)
			if err != nil {
				return err
			}

			if s.json {
				err = printJSON(c.OutOrStdout(), map[string]any{"parked": all, "next": next})
			} else {
				for _, r := range all {
					fmt.Fprintf(c.OutOrStdout(), "%s  event %s (%s) for payment %s: %s\n", stamp(r.At), r.EventID, r.Type, r.PaymentID, r.Reason)
				}
				err = printMore(c.ErrOrStderr(), next, nil)
			}

			if err == nil && len(all) > 0 {
				err = &statusError{exitFailure, nil}
			}

			return err
		})
	}

	return c
}

func paymentsReport(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "report", Short: "Print what the sandbox processor has done, as a file for `ratchet reconcile`", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				out := csv.NewWriter(c.OutOrStdout())

				err := out.Write([]string{"key", "kind", "amount", "currency", "state"})
				if err != nil {
					return err
				}
				err = b.Bank.Report(c.Context(), func(key, kind string, amount int64, currency string) error {
					return out.Write([]string{key, kind, strconv.FormatInt(amount, 10), currency, string(payments.Succeeded)})
				})
				out.Flush()

				if err == nil {
					err = out.Error()
				}

				return err
			})
		},
	}
}
