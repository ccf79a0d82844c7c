package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

func paymentsParked(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{Use: "parked", Short: "List callbacks of the processor that match no payment", Args: cobra.NoArgs,
		Long: "Lists callbacks with a valid signature that do not match: an unknown payment, another amount\n" +
			"or another state."}
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "how many")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Payments.Parked(c.Context(), *after, *limit)
			if err != nil {
				return err
			}

			if s.JSON {
				err = terminal.PrintLines(c.OutOrStdout(), all)
			} else {
				for _, r := range all {
					fmt.Fprintf(c.OutOrStdout(), "%s  event %s (%s) for payment %s: %s\n", terminal.Stamp(r.At), r.EventID, r.Type, r.PaymentID, r.Reason)
				}
			}

			// A callback that matches no payment needs a person, so the exit status is not 0.
			if err = terminal.PrintMore(c.ErrOrStderr(), next, err); err == nil && len(all) > 0 {
				err = exit.With(exit.Failure, nil)
			}

			return err
		})
	}

	return s.Long(c, "reading callbacks")
}
