package money

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once/ledger"
)

func holdsCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("holds", "Reserve money of an account", holdsCreate(s), holdsGet(s), holdsRelease(s))
}

func printHold(out io.Writer, asJSON bool, h ledger.Hold) error {
	if asJSON {
		return terminal.PrintJSON(out, h)
	}

	expires := ""
	if !h.ExpiresAt.IsZero() {
		expires = ", expires " + terminal.Stamp(h.ExpiresAt)
	}
	_, err := fmt.Fprintf(out, "hold %s on account %s is %s: %d of %d %s left%s\n", h.ID, h.Account, h.Status, h.Remaining, h.Amount, h.Currency, expires)

	return err
}
