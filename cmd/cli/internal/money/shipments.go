package money

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/shipping/reports"
)

func shipmentsCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("shipments", "Show what the carrier has reported, and book again", shipmentsReports(s), shipmentsBookAgain(s))
}

func shipmentsReports(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "reports", Short: "List reports of the carrier that wait for their order, need a person or were refused", Args: cobra.NoArgs,
		Long: `Lists reports of the carrier that wait until their order can take them or until the carrier
confirms them. --effect selects others: attention, those about which a person has to do something, with
the command; done, those with which a person has dealt, for 400 days; refused, those that their order can
never take. With --json, one JSON object per line.`,
		Example: "  ratchet shipments reports\n  ratchet shipments reports --effect attention\n  ratchet shipments reports --effect refused --json",
	}
	effect := c.Flags().String("effect", string(reports.Waiting), `"waiting", "attention", "done" or "refused"`)
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "how many")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		wanted := reports.Effect(*effect)
		if !slices.Contains([]reports.Effect{reports.Waiting, reports.Attention, reports.Done, reports.Refused}, wanted) {
			return exit.UsageError(`effect %q: "waiting", "attention", "done" or "refused"`, *effect)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Reports.List(c.Context(), wanted, *after, *limit)
			if err != nil {
				return err
			}

			for _, r := range all {
				if err := printReport(c.OutOrStdout(), s.JSON, r); err != nil {
					return err
				}
			}

			// Reports that are done need no person, so a list of them is no finding.
			if err := terminal.PrintMore(c.ErrOrStderr(), next, nil); err != nil || len(all) == 0 || wanted == reports.Done {
				return err
			}

			return exit.With(exit.Failure, nil)
		})
	}
	c.AddCommand(shipmentsReportsDone(s))

	return c
}

// printReport prints a report in one line, with who has dealt with it or what a person may run.
func printReport(w io.Writer, asJSON bool, r reports.Stored) error {
	if asJSON {
		return terminal.PrintJSON(w, r)
	}

	text := fmt.Sprintf("%s  %s %s of order %s: %s\n", terminal.Stamp(r.Since), r.Milestone, r.Name, r.OrderID, r.Reason)

	switch {
	case r.Closing != nil:
		text += fmt.Sprintf("    done %s: %s\n", terminal.Stamp(r.Closing.At), arguments.DescribeCause(r.Closing.Cause))
	case r.Command != "":
		text += "    " + r.Command + "\n"
	}

	_, err := io.WriteString(w, text)

	return err
}

func shipmentsReportsDone(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "done NAME", Short: "Say that a person has dealt with a report", Args: cobra.ExactArgs(1),
		Long: `Takes a report that needs a person off the list, for example because the money was given back elsewhere.
It is not tried again, and a repeat of the carrier changes nothing. It changes neither the order nor its
payment. Who, when and why are kept for 400 days; the first closing counts, and a repeat prints it. The
name of a report is ORDER/ID, or 'ORDER/ID DIGEST' if the list shows that.`,
		Example: "  ratchet shipments reports done o-1/r-17 --cause 'paid back in the old system'",
	}
	why := c.Flags().String("cause", "", "why, for people, up to 1,000 bytes; required")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *why == "" {
			return exit.UsageError("cause: say why nothing is left to be done")
		}
		cause := arguments.CliCause()
		cause.Text = *why

		return s.With(c.Context(), func(b *server.Backend) error {
			// A name can be an id with a digest, so the report is looked up first.
			r, err := b.Reports.Find(c.Context(), args[0])
			if err != nil {
				return err
			}

			if r, err = b.Reports.MarkDone(c.Context(), r, cause); err != nil {
				return err
			}

			return printReport(c.OutOrStdout(), s.JSON, r)
		})
	}

	return c
}
