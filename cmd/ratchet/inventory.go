package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/inventory"
	"ratchet/server"
)

const inventoryHelp = `Stock: what is available, reserved and committed, per SKU and per order.

Reserving, committing and releasing may be repeated: each happens once per order. A
reservation with --for ends: then it cannot be committed, and workers (or
` + "`ratchet inventory expire`" + `) put the pieces back.

Exit status 3: out of stock, or the reservation is closed or expired.`

func inventoryCommand(s *settings) *cobra.Command {
	c := group("inventory", "Look at stock; reserve, commit and release it", inventoryGet(s), inventorySet(s), inventoryShow(s),
		inventoryReserve(s), inventoryAddItems(s), inventoryEnd(s, "commit", "Turn an order's reservation into sold pieces", (*inventory.Stock).Commit),
		inventoryEnd(s, "release", "Put an order's reserved pieces back", (*inventory.Stock).Release), inventoryExpire(s))
	c.Long = inventoryHelp

	return c
}

// tellReservation says in one line what an order has reserved now.
func (s *settings) tellReservation(c *cobra.Command, b *server.Backend, order string) error {
	r, _, err := b.Stock.Reservation(c.Context(), order)
	switch {
	case err != nil:
		return err
	case s.json:
		return printJSON(c.OutOrStdout(), r)
	}

	pieces := make([]string, len(r.Lines))
	for i, l := range r.Lines {
		pieces[i] = fmt.Sprintf("%d x %s", l.Quantity, l.SKU)
	}

	until := ""
	if !r.ExpiresAt.IsZero() {
		until = ", until " + stamp(r.ExpiresAt)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "order %s is %s: %s%s\n", r.Order, r.Status, strings.Join(pieces, ", "), until)

	return err
}
