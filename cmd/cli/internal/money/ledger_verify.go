package money

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/once/ledger"
	"ratchet/server"
)

func ledgerVerify(s *settings.Settings) *cobra.Command {
	return s.Long(&cobra.Command{
		Use: "verify", Short: "Check that the ledger is consistent", Args: cobra.NoArgs,
		Long: "Checks that every transfer sums to zero and matches its entries, that the entries of every\n" +
			"account form a chain that ends in its balance, that the held amount of every account is the sum\n" +
			"of its holds, and that every entry has its transfer. Reads all tables page by page and writes\n" +
			"nothing; transfers may continue meanwhile.",
		RunE: func(c *cobra.Command, _ []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				// Findings are printed as they are found; a ledger can have many.
				proof, err := b.Ledger.Verify(c.Context(), func(f ledger.Finding) error {
					if s.JSON {
						return terminal.PrintJSON(c.OutOrStdout(), f)
					}
					return printFinding(c.OutOrStdout(), f)
				}, func(p ledger.Proof) {
					s.Progress.Print("%s, %s, %s checked, %s", plural.Of(p.Transfers, "transfer"), plural.Of(p.Accounts, "account"),
						plural.Of(p.Entries, "entry"), plural.Of(p.Findings, "contradiction"))
				})
				if err != nil {
					return err
				}

				return printProof(c.OutOrStdout(), s.JSON, proof)
			})
		},
	}, "checking the ledger")
}

func printFinding(out io.Writer, f ledger.Finding) error {
	where := ""
	if f.Account != "" {
		where = " account " + f.Account
	}

	if f.Transfer != "" {
		where += " transfer " + f.Transfer
	}
	_, err := fmt.Fprintf(out, "%s:%s: %s\n", f.Kind, where, f.Detail)

	return err
}

// printProof prints the totals. If there are contradictions, it returns an error with
// exit.Failure.
func printProof(out io.Writer, asJSON bool, p ledger.Proof) (err error) {
	if asJSON {
		err = terminal.PrintJSON(out, p)
	} else {
		_, err = fmt.Fprintf(out, "%s, %s, %s and %s checked: %s\n", plural.Of(p.Transfers, "transfer"),
			plural.Of(p.Accounts, "account"), plural.Of(p.Entries, "entry"), plural.Of(p.Holds, "hold"), plural.Of(p.Findings, "contradiction"))
		for _, currency := range slices.Sorted(maps.Keys(p.Sums)) {
			fmt.Fprintf(out, "all balances in %s sum to %d\n", currency, p.Sums[currency])
		}
	}

	if err == nil && p.Findings > 0 {
		err = exit.With(exit.Failure, nil)
	}

	return err
}
