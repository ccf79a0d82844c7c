package money

import (
	"encoding/csv"
	"strconv"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/internal/plural"
	"ratchet/payments"
	"ratchet/server"
)

func paymentsReport(s *settings.Settings) *cobra.Command {
	return s.Long(&cobra.Command{
		Use: "report", Short: "Print the operations of the sandbox processor as a file for `ratchet reconcile`", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				// Another bank's operations are not in this installation's tables.
				if b.Bank == nil {
					return exit.UsageError("the bank is not the sandbox: ask it for its own report")
				}

				out := csv.NewWriter(c.OutOrStdout())

				err := out.Write([]string{"key", "kind", "amount", "currency", "state"})
				if err != nil {
					return err
				}
				rows := 0
				err = b.Bank.Report(c.Context(), func(key, kind string, amount int64, currency string) error {
					rows++
					s.Progress.Print("%s read", plural.Of(rows, "operation"))

					return out.Write([]string{key, kind, strconv.FormatInt(amount, 10), currency, string(payments.Succeeded)})
				})
				// The writer keeps its first error; it is known after the Flush.
				out.Flush()

				if err == nil {
					err = out.Error()
				}

				return err
			})
		},
	}, "reading operations")
}
