package money

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/payments"
	"ratchet/server"
)

func paymentsRecover(s *settings.Settings) *cobra.Command {
	return s.Long(&cobra.Command{
		Use: "recover", Short: "Complete steps that a stopped worker left open, and expire old authorizations", Args: cobra.NoArgs,
		Long: "Does once what `ratchet worker` does every 15 s.",
		RunE: func(c *cobra.Command, _ []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				// Recovering calls the bank about every open step.
				if err := b.CheckBank(); err != nil {
					return err
				}

				var total payments.Recovered
				// One call reads a page; steps that stay open are collected and listed at the end.
				for after := ""; ; {
					r, err := b.Payments.Recover(c.Context(), after, 500)
					// Counted also after an error: the counted steps are complete.
					total.Finished += r.Finished
					total.Expired += r.Expired
					total.Left = append(total.Left, r.Left...)

					if err != nil {
						return err
					}
					s.Progress.Print("%s ended, %s expired, %d left", plural.Of(total.Finished, "step"), plural.Of(total.Expired, "authorization"), len(total.Left))

					if after = r.Next; after == "" {
						return printRecovered(c.OutOrStdout(), s.JSON, total)
					}
				}
			})
		},
	}, "reading payments")
}

// printRecovered prints the totals. If steps are left, it returns an error with exit.Failure.
func printRecovered(out io.Writer, asJSON bool, r payments.Recovered) (err error) {
	if asJSON {
		err = terminal.PrintJSON(out, r)
	} else {
		for _, left := range r.Left {
			fmt.Fprintf(out, "payment %s: %s\n", left.PaymentID, left.Reason)
		}
		_, err = fmt.Fprintf(out, "%s ended, %s expired, %d left\n", plural.Of(r.Finished, "step"), plural.Of(r.Expired, "authorization"), len(r.Left))
	}

	// A step that stays open is printed with its reason.
	if err == nil && len(r.Left) > 0 {
		err = exit.With(exit.Failure, nil)
	}

	return err
}
