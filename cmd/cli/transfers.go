package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/once/ledger"
)

func transfersCommand(s *settings) *cobra.Command {
	return group("transfers", "Move money between accounts of the ledger", transfersCreate(s), transfersGet(s), transfersList(s))
}

func printTransfer(out io.Writer, asJSON bool, p ledger.Posted) error {
	if asJSON {
		return printJSON(out, p)
	}
	fmt.Fprintf(out, "%s: transfer %s of %s\n", map[bool]string{false: "Posted", true: "Replayed"}[p.Replayed], p.ID, stamp(p.At))

	for _, e := range p.Postings {
		fmt.Fprintf(out, "  %s %+d %s, balance %d\n", e.Account, e.Amount, p.Currency, e.Balance)
	}

	return nil
}
