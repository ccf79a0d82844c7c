package money

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/payments/reconcile"
	"ratchet/server"
)

func reconcileCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "reconcile", Short: "Compare the processor's file with payments and ledger", Args: cobra.NoArgs,
		Long: `Compares the processor's report of its operations with the payments and the ledger, and
lists every mismatch with its reason: missing-here, missing-there, kind, amount, currency,
state, duplicate, ledger. A step of an order that was paid elsewhere is listed as paid-elsewhere, and is
no mismatch.

The file is CSV with a header and one record per line. It has these columns in any order;
others are ignored:
  key       idempotency key of the step: PAYMENT/STEP
  kind      charge, capture, refund or chargeback
  amount    minor units, a whole number above 0
  currency  ISO 4217 code
  state     succeeded, failed or pending
` + "`ratchet payments report`" + ` prints such a file for the sandbox processor.

Memory does not grow with the file. Temporary files in --temp need about 120 bytes per
line.`,
	}
	name := c.Flags().String("file", "", "the processor's file; - reads standard input")
	until := c.Flags().String("until", "", "steps that ended at that time or later may be missing in the file (RFC 3339)")
	temp := c.Flags().String("temp", "", "directory of temporary files; default: that of the system")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *name == "" {
			return exit.UsageError("reconcile needs --file")
		}

		cfg := reconcile.Config{Dir: *temp}
		if *until != "" {
			var err error
			if cfg.Until, err = time.Parse(time.RFC3339, *until); err != nil {
				return exit.UsageError("until %q: must be a time like 2026-11-21T00:00:00Z", *until)
			}
		}

		// The file is opened before the backend: a file that does not exist needs no connection.
		file, err := arguments.OpenInput(*name)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		defer file.Close()

		return s.With(c.Context(), func(b *server.Backend) error {
			cfg.Payments, cfg.Ledger, cfg.Elsewhere = b.Payments, b.Ledger, b.PaysElsewhere
			cfg.Events.Progress = func(list string, n int) { s.Progress.Print("%s: %d", list, n) }

			// A bad line is reported and skipped: the others are compared all the same.
			cfg.Events.BadLine = func(line int, err error) { fmt.Fprintf(c.ErrOrStderr(), "line %d: %v\n", line, err) }
			totals, err := reconcile.Run(c.Context(), file, cfg, func(m reconcile.Mismatch) error {
				if s.JSON {
					return terminal.PrintJSON(c.OutOrStdout(), m)
				}
				return printMismatch(c.OutOrStdout(), m)
			})
			if err != nil {
				return err
			}

			return printTotals(c.OutOrStdout(), s.JSON, totals)
		})
	}

	return s.Long(c, "comparing the file with the payments")
}

func printMismatch(out io.Writer, m reconcile.Mismatch) error {
	// A step that is only here has no line in the file.
	where := ""
	if m.Line > 0 {
		where = fmt.Sprintf(" (line %d)", m.Line)
	}

	text := ""
	if m.Here != "" {
		text = " here " + m.Here
	}

	if m.There != "" {
		text += " there " + m.There
	}
	_, err := fmt.Fprintf(out, "%s: %s%s:%s\n", m.Reason, m.Key, where, text)

	return err
}

// printTotals prints the totals. If there are mismatches or bad lines, it returns an error
// with the exit status.
func printTotals(out io.Writer, asJSON bool, t reconcile.Totals) (err error) {
	if asJSON {
		err = terminal.PrintJSON(out, t)
	} else {
		_, err = fmt.Fprintf(out, "%s, %s of payments and %s compared; keys: %d agree, %d do not; %s could not be read\n",
			plural.Of(t.Lines, "line"), plural.Of(t.Steps, "step"), plural.Of(t.Transfers, "transfer"),
			t.Matched, t.Mismatched, plural.Of(t.BadLines, "line"))
		for _, reason := range slices.Sorted(maps.Keys(t.Reasons)) {
			fmt.Fprintf(out, "  %s: %d\n", reason, t.Reasons[reason])
		}

		if t.Elsewhere > 0 {
			fmt.Fprintf(out, "  %s, no mismatch: %d\n", reconcile.PaidElsewhere, t.Elsewhere)
		}
	}

	switch {
	case err != nil:
		return err
	// Mismatches are more urgent than lines that could not be read.
	case t.Mismatched > 0:
		return exit.With(exit.Failure, nil)
	case t.BadLines > 0:
		return exit.With(exit.Usage, nil)
	}

	return nil
}
