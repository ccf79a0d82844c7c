package orders

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
	"ratchet/transitions"
)

func ordersShip(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "ship ORDER SKU:QUANTITY...", Short: "Report a parcel that has left", Args: cobra.MinimumNArgs(2),
		Long: "Adds the parcel's pieces to the shipped ones and moves the order with the same write, by the\n" +
			"events that its definition names: until its last piece has left a shop's order is\n" +
			"PARTIALLY_SHIPPED, then SHIPPED. A repeat with the same --parcel changes nothing; with other\n" +
			"lines or own attributes it is refused. The same write sets and removes own attributes (--set,\n" +
			"--remove), on the conditions of --if and --if-missing.",
	}
	cause := arguments.ReasonFlags(c)
	checkSkipped := forceFlag(c, cause)
	own := ownFlags(c)
	id := c.Flags().String("parcel", "", "name of the parcel, like a tracking number (required)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *id == "" {
			return exit.UsageError("a parcel needs a name: --parcel ID")
		}

		p := transitions.Parcel{OrderID: transitions.OrderID(args[0]), ID: *id, Cause: cause()}
		for _, text := range args[1:] {
			// The last colon, because a SKU may contain colons.
			i := strings.LastIndexByte(text, ':')
			quantity, err := strconv.ParseInt(text[i+1:], 10, 32)
			if i < 0 || err != nil {
				return exit.UsageError("line %q: must be SKU:QUANTITY, the quantity a whole number", text)
			}
			p.Lines = append(p.Lines, transitions.ParcelLine{SKU: text[:i], Quantity: quantity})
		}

		var err error
		if p.Own, err = own(); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			// With its last parcel the order is shipped.
			if err := checkSkipped(c.Context(), b, p.OrderID, b.Orders.Definition().Shipping().Left, p.MadeBy); err != nil {
				return err
			}

			result, err := b.Orders.ShipParcel(c.Context(), p)
			if err != nil {
				return err
			}

			return views.PrintResult(c.OutOrStdout(), s.JSON, p.OrderID, result)
		})
	}

	return c
}
