package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/transitions"
)

func shipmentsBookAgain(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "book-again ORDER", Short: "Book another shipment in the place of one that the carrier has canceled", Args: cobra.ExactArgs(1),
		Long: `Books another shipment for a paid order whose shipment the carrier has canceled, under the key of the
first one and a number (.../shipping/2). A carrier that can be asked must say that the shipment is canceled;
another one is asked to cancel it. An order on hold is released first. A repeat of a call whose answer was
lost books nothing more. A report or a dead letter about the cancellation then ends: the report by itself,
the dead letter when it is redriven.`,
		Example: "  ratchet shipments book-again o-1 --reason 'the address is right, the carrier has corrected its data'",
	}
	reason := c.Flags().String("reason", "", "why, for the audit; required")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *reason == "" {
			return exit.UsageError("reason: say why another shipment is booked")
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			tracking, err := b.BookAgain(c.Context(), transitions.OrderID(args[0]))
			if err != nil {
				return err
			}

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), map[string]string{"orderId": args[0], "tracking": tracking})
			}

			_, err = fmt.Fprintf(c.OutOrStdout(), "order %s: booked again, tracking number %s\n", args[0], tracking)

			return err
		})
	}

	return c
}
