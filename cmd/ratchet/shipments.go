package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/shipping/reports"
)

func shipmentsCommand(s *settings) *cobra.Command {
	return group("shipments", "Show what the carrier has reported", shipmentsReports(s))
}

func shipmentsReports(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "reports", Short: "List reports of the carrier that wait for their order, or were refused", Args: cobra.NoArgs,
		Long: `Lists reports of the carrier that wait until their order can take them or until the carrier
confirms them, or with --effect refused those that their order can never take. With --json, one
JSON object per line. Exit status 1 if there are any.`,
		Example: "  ratchet shipments reports\n  ratchet shipments reports --effect refused --json",
	}
	effect := c.Flags().String("effect", string(reports.Waiting), `"waiting" or "refused"`)
	limit := c.Flags().Int("limit", 100, "how many, 1 to 1000")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if e := reports.Effect(*effect); e != reports.Waiting && e != reports.Refused {
			return usageError(`effect %q: "waiting" or "refused"`, *effect)
		}

		if *limit < 1 || *limit > 1000 {
			return usageError("limit %d: 1 to 1000", *limit)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Reports.List(c.Context(), reports.Effect(*effect), *after, *limit)
			if err != nil {
				return err
			}

			for _, r := range all {
				if s.json {
					err = printJSON(c.OutOrStdout(), r)
				} else {
					_, err = fmt.Fprintf(c.OutOrStdout(), "%s  %s %s of order %s: %s\n", stamp(r.Since), r.Milestone, r.ID, r.OrderID, r.Reason)
				}

				if err != nil {
					return err
				}
			}

			if err := printMore(c.ErrOrStderr(), next, nil); err != nil || len(all) == 0 {
				return err
			}

			return &statusError{exitFailure, nil}
		})
	}

	return c
}
