package main

import (
	"encoding/csv"
	"strconv"

	"github.com/spf13/cobra"

	"ratchet/payments"
	"ratchet/server"
)

func paymentsReport(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "report", Short: "Print the operations of the sandbox processor as a file for `ratchet reconcile`", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				out := csv.NewWriter(c.OutOrStdout())

				err := out.Write([]string{"key", "kind", "amount", "currency", "state"})
				if err != nil {
					return err
				}
				err = b.Bank.Report(c.Context(), func(key, kind string, amount int64, currency string) error {
					return out.Write([]string{key, kind, strconv.FormatInt(amount, 10), currency, string(payments.Succeeded)})
				})
				out.Flush()

				if err == nil {
					err = out.Error()
				}

				return err
			})
		},
	}
}
