package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/server"
)

func paymentsParked(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "parked", Short: "List callbacks of the processor that match no payment", Args: cobra.NoArgs,
		Long: "Lists callbacks with a valid signature that do not match: an unknown payment, another amount\n" +
			"or another state. Exit status 1 if there are any."}
	limit := limitFlag(c.Flags(), 100, 1_000, "how many")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Payments.Parked(c.Context(), *after, *limit)
			if err != nil {
				return err
			}

			if s.json {
				err = printLines(c.OutOrStdout(), all)
			} else {
				for _, r := range all {
					fmt.Fprintf(c.OutOrStdout(), "%s  event %s (%s) for payment %s: %s\n", stamp(r.At), r.EventID, r.Type, r.PaymentID, r.Reason)
				}
			}

			// A callback that matches no payment needs a person, so the exit status is not 0.
			if err = printMore(c.ErrOrStderr(), next, err); err == nil && len(all) > 0 {
				err = &statusError{exitFailure, nil}
			}

			return err
		})
	}

	return s.long(c, "reading callbacks")
}
