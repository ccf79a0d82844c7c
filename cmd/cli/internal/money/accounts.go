package money

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/once/ledger"
)

func accountsCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("accounts", "Open, read and close accounts of the ledger",
		append(s.PrintsJSON(accountsCreate(s), accountsGet(s), accountsList(s), accountsStatement(s)), accountsClose(s))...)
}

func printAccounts(out io.Writer, all ...ledger.Account) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "account\tcurrency\tside\tstatus\tbalance\tavailable\theld\tentries\tshards")

	for _, a := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", a.ID, a.Currency, a.Side, a.Status, a.Balance, a.Available, a.Held, a.Entries, a.Shards)
	}

	return w.Flush()
}
