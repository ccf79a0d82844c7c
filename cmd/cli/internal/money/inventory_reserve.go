package money

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/once/inventory"
	"ratchet/server"
)

func inventoryReserve(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use:   "reserve ORDER SKU:PIECES...",
		Short: "Reserve pieces for an order, all or none",
		Args:  cobra.MinimumNArgs(2),
	}
	hold := c.Flags().Duration("for", 0, "how long the reservation lasts; default: until it is committed or released")
	c.RunE = func(c *cobra.Command, args []string) error {
		var lines []inventory.Line
		for _, text := range args[1:] {
			// The last colon, because a SKU may contain colons.
			i := strings.LastIndexByte(text, ':')
			pieces, err := strconv.ParseInt(text[i+1:], 10, 64)
			if i < 0 || err != nil {
				return exit.UsageError("line %q: must be SKU:PIECES", text)
			}
			lines = append(lines, inventory.Line{SKU: text[:i], Quantity: pieces})
		}

		if *hold < 0 {
			return exit.UsageError("for %s: must not be negative", *hold)
		}

		var until time.Time
		if *hold > 0 {
			until = time.Now().Add(*hold)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			name, err := views.ReservationOf(c.Context(), b, args[0])
			if err != nil {
				return err
			}

			if err := b.Stock.ReserveUntil(c.Context(), name, lines, until); err != nil {
				return err
			}

			return printReservation(s, c, b, name)
		})
	}

	return c
}
