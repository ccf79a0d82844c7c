package money

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once/ledger"
)

func transfersCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("transfers", "Move money between accounts of the ledger", transfersCreate(s), transfersGet(s), transfersList(s))
}

func printTransfer(out io.Writer, asJSON bool, p ledger.Posted) error {
	if asJSON {
		return terminal.PrintJSON(out, p)
	}
	fmt.Fprintf(out, "%s: transfer %s of %s\n", map[bool]string{false: "Posted", true: "Replayed"}[p.Replayed], p.ID, terminal.Stamp(p.At))

	for _, e := range p.Postings {
		fmt.Fprintf(out, "  %s %+d %s, balance %d\n", e.Account, e.Amount, p.Currency, e.Balance)
	}

	return nil
}
