package money

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once/inventory"
	"ratchet/server"
)

const inventoryHelp = `Stock: how many pieces are available, reserved and committed, per SKU and per order.

A reservation is named by the life of its order, ` + "`orderId.incarnation`" + `. These commands take the plain id
of the order, too, if no reservation has it as its name: it means the order's present life.

Reserve, commit and release are idempotent: each happens once per order. A reservation
with --for expires. Then it cannot be committed, and workers (or
` + "`ratchet inventory expire`" + `) make its pieces available again.`

func inventoryCommand(s *settings.Settings) *cobra.Command {
	c := settings.Group("inventory", "Show, reserve, commit and release stock", inventoryGet(s), inventorySet(s), inventoryReservation(s),
		inventoryReserve(s), inventoryAddItems(s), inventoryEnd(s, "commit", "Sell the pieces of an order's reservation", (*inventory.Stock).Commit),
		inventoryEnd(s, "release", "Make the pieces of an order's reservation available again", (*inventory.Stock).Release), inventoryExpire(s))
	c.Long = inventoryHelp

	return c
}

// printReservation prints an order's reservation on one line.
func printReservation(s *settings.Settings, c *cobra.Command, b *server.Backend, order string) error {
	// Read again after the change: the line shows what is stored.
	r, _, err := b.Stock.Reservation(c.Context(), order)
	switch {
	case err != nil:
		return err
	case s.JSON:
		return terminal.PrintJSON(c.OutOrStdout(), r)
	}

	pieces := make([]string, len(r.Lines))
	for i, l := range r.Lines {
		pieces[i] = fmt.Sprintf("%d x %s", l.Quantity, l.SKU)
	}

	until := ""
	if !r.ExpiresAt.IsZero() {
		until = ", until " + terminal.Stamp(r.ExpiresAt)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "order %s is %s: %s%s\n", r.Order, r.Status, strings.Join(pieces, ", "), until)

	return err
}
