package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/once/ledger"
)

func holdsCommand(s *settings) *cobra.Command {
	return group("holds", "Reserve money of an account", holdsCreate(s), holdsGet(s), holdsRelease(s))
}

func printHold(out io.Writer, asJSON bool, h ledger.Hold) error {
	if asJSON {
		return printJSON(out, h)
	}

	expires := ""
	if !h.ExpiresAt.IsZero() {
		expires = ", expires " + stamp(h.ExpiresAt)
	}
	_, err := fmt.Fprintf(out, "hold %s on account %s is %s: %d of %d %s left%s\n", h.ID, h.Account, h.Status, h.Remaining, h.Amount, h.Currency, expires)

	return err
}
