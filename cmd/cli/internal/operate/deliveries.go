package operate

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/notify"
	"ratchet/operate/jobs"
	"ratchet/server"
)

func deliveriesCommand(s *settings.Settings) *cobra.Command {
	c := settings.Group("deliveries", "What became of notifications", deliveriesList(s), deliveriesShow(s), deliveriesResend(s))
	c.Example = "  ratchet deliveries list --endpoint shop --status MISSED\n  ratchet deliveries resend --endpoint shop --since 24h"

	return c
}

func deliveriesList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List deliveries of an order, or what is under way or missed at an endpoint", Args: cobra.NoArgs,
		Long: "With --order, all deliveries of the order. With --endpoint, those that are PENDING or MISSED, from the\n" +
			"endpoint's queue. With --all, every delivery: this reads the whole table.",
		Example: "  ratchet deliveries list --order o-1\n  ratchet deliveries list --endpoint shop --status MISSED --since 24h",
	}
	order := c.Flags().String("order", "", "deliveries of this order")
	endpoint := c.Flags().String("endpoint", "", "deliveries to this endpoint")
	status := c.Flags().String("status", "", "with --endpoint: PENDING (default) or MISSED")
	since := c.Flags().String("since", "", "with --endpoint: due or missed since then, like 24h")
	after := c.Flags().String("after", "", "with --endpoint: continue here")
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "at most this many")
	all := c.Flags().Bool("all", false, "every delivery")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if modes := countTrue(*order != "", *endpoint != "", *all); modes != 1 {
			return exit.UsageError("list needs one of --order, --endpoint and --all")
		}

		from, err := arguments.PointInTime("since", *since)
		if err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			var (
				found []notify.Delivery
				next  string
				err   error
			)
			switch {
			case *order != "":
				found, err = b.Deliveries.OfOrder(c.Context(), *order)
			case *all:
				// scanDeliveries prints them: a scan has no cursor at which to continue.
				return scanDeliveries(c, s, b, *limit)
			default:
				wanted := notify.Status(strings.ToUpper(*status))
				if wanted == "" {
					wanted = notify.Pending
				}
				found, next, err = b.Deliveries.List(c.Context(), *endpoint, wanted, from, *after, *limit)
			}

			if err != nil {
				return err
			}

			return terminal.PrintMore(c.ErrOrStderr(), next, printDeliveries(c.OutOrStdout(), s.JSON, found))
		})
	}

	return s.Long(c, "reading deliveries")
}

func scanDeliveries(c *cobra.Command, s *settings.Settings, b *server.Backend, limit int) error {
	var found []notify.Delivery

	// false ends the scan at the limit.
	err := b.Deliveries.Scan(c.Context(), func(d notify.Delivery) bool {
		found = append(found, d)
		s.Progress.Print("%s read", plural.Of(len(found), "delivery"))

		return len(found) < limit
	})

	return errors.Join(err, printDeliveries(c.OutOrStdout(), s.JSON, found))
}

func countTrue(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}

	return n
}

func printDeliveries(out io.Writer, asJSON bool, all []notify.Delivery) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "DELIVERY\tSTATE\tSTATUS\tATTEMPTS\tNEXT TRY\tANSWER\tERROR")
	}

	for _, d := range all {
		if asJSON {
			if err := terminal.PrintJSON(out, toPrintedDelivery(d)); err != nil {
				return err
			}
			continue
		}

		next := ""
		if !d.NextTry.IsZero() {
			next = terminal.Stamp(d.NextTry)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\t%s\n", d.ID(), d.State, d.Status, d.Attempts, next, d.Answer, d.Error)
	}

	return w.Flush()
}

// printedDelivery is a delivery with its id.
type printedDelivery struct {
	ID string `json:"id"`
	notify.Delivery
}

func toPrintedDelivery(d notify.Delivery) printedDelivery { return printedDelivery{d.ID(), d} }

func deliveriesShow(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get ORDER/INCARNATION/TRANSITION/ENDPOINT", SuggestFor: []string{"show"}, Short: "Print a delivery as JSON", Args: cobra.ExactArgs(1),
		Example: "  ratchet deliveries get o-1/06h1hnv0clhti/3/shop",
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				d, err := b.Deliveries.Get(c.Context(), args[0])
				if err != nil {
					return err
				}

				return terminal.PrintJSON(c.OutOrStdout(), toPrintedDelivery(d))
			})
		},
	}
}

func deliveriesResend(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "resend [ORDER/INCARNATION/TRANSITION/ENDPOINT...]", Short: "Send again: single deliveries, or what an endpoint missed",
		Long: "Makes deliveries that have ended due again, under the same key and with a new schedule. A worker sends\n" +
			"them. With --endpoint and --since it takes what the endpoint MISSED, by a job: a worker runs it, or without\n" +
			"workers this command. Ctrl-C pauses it, and `ratchet jobs resume` goes on. Prints how many.",
		Example: "  ratchet deliveries resend o-1/06h1hnv0clhti/3/shop\n  ratchet deliveries resend --endpoint shop --since 24h",
	}
	endpoint := c.Flags().String("endpoint", "", "send what this endpoint missed")
	since := c.Flags().String("since", "", "with --endpoint: of transitions since then, like 24h or 2026-01-31T12:00:00Z")
	tenant := c.Flags().String("tenant", string(auth.DefaultTenant), "with --endpoint: the tenant whose orders they are about")
	job := jobrun.AddFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		// Both ways at once would leave open which deliveries the time applies to.
		if (len(args) == 0) == (*endpoint == "") || (*endpoint == "") != (*since == "") {
			return exit.UsageError("resend needs deliveries, or --endpoint and --since")
		}

		from, err := arguments.PointInTime("since", *since)
		if err := errors.Join(err, job.Check()); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			if *endpoint != "" {
				if _, err := b.Endpoints.Get(c.Context(), *endpoint); err != nil {
					return err
				}
				n := jobs.New{Kind: jobs.ResendDeliveries, Tenant: arguments.OwnerOf(*tenant), Filter: jobs.Filter{Endpoint: *endpoint, Since: from}}

				return job.All(c, s, b, n, "delivery", "due again")
			}

			count := 0

			var err error

			// The loop stops at the first error, so that the count has only deliveries that were
			// made due.
			for _, id := range args {
				if _, err = b.Deliveries.Resend(c.Context(), id); err != nil {
					break
				}
				count++
			}

			if s.JSON {
				// The count is printed also after an error: the counted deliveries are due.
				return errors.Join(err, terminal.PrintJSON(c.OutOrStdout(), map[string]int{"resent": count}))
			}
			fmt.Fprintf(c.OutOrStdout(), "due again: %s\n", plural.Of(count, "delivery"))

			return err
		})
	}

	return s.Long(c, "making deliveries due")
}
