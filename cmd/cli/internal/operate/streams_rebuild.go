package operate

import (
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/streams/reactions"
	"ratchet/streams/replay"
	"ratchet/transitions"
)

const streamsRebuildHelp = `Repairs the stream's handlers after a gap, or fills a new handler (--handler): reads every
order and puts the changes that it still proves, under their own transition ids, into the
handlers' retry queues, marked as repaired. The workers deliver them, oldest first for each
order, while they go on with the stream; an order's newer changes wait meanwhile.

An order remembers its newest 8 changes; with --from-journal the rows of its journal count as
well. Older ones that neither has are lost: the order is printed, and its journal gets a row
"lost" that closes the chain, so that questions about them get a final answer. A change that
arrives after all replaces that row. First let the workers read the stream to its end.

Effects that have happened are not repeated, because their claims are completed. What was
queued for an order and a handler is not queued again within 30 days, unless --again: that
also repeats notifications.

The position is noted, and the next run goes on where one has ended early, unless --restart.`

func streamsRebuild(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "rebuild", Short: "Repair the stream's handlers from the orders", Args: cobra.NoArgs, Long: streamsRebuildHelp,
		Example: "  ratchet streams rebuild --since 48h --dry-run\n" +
			"  ratchet streams rebuild --handler lists --from-journal",
	}
	flags := redeliveryFlags(c, "queue changes that were queued before, and repeat effects that have happened",
		"count the changes, queue none and close no journal", "take the rows of the journal as well")
	restart := c.Flags().Bool("restart", false, "begin with the first order")
	c.RunE = func(c *cobra.Command, _ []string) error {
		since, err := flags.check(c)
		if err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			r, err := flags.rebuild(b, since)
			if err != nil {
				return err
			}

			r.Restart, r.Repeat = *restart, *flags.again

			// The name stores the position, so runs for different handlers do not continue each
			// other.
			r.Name = "rebuild"
			if *flags.handler != "" {
				r.Name += "-" + *flags.handler
			}

			r.Expand = b.Expander(server.Repair{
				FromJournal: *flags.fromJournal,
				// Closing a journal writes rows, which a dry run and a run for another handler must
				// not do.
				CloseJournal: !*flags.dryRun && (*flags.handler == "" || *flags.handler == reactions.JournalHandler),
				Lost: func(order transitions.OrderID, first transitions.TransitionID) {
					printLost(c, s.JSON, order, first)
				},
			})

			return runRebuild(c, s, flags, b.Orders.Mapping(), r)
		})
	}

	return s.Long(c, "reading orders")
}

// runRebuild runs the Rebuild and prints its counts.
func runRebuild(c *cobra.Command, s *settings.Settings, flags redelivery, m transitions.Mapping, r replay.Rebuild) error {
	r.Progress = func(count replay.RebuildCount) {
		s.Progress.Print("%s read, %s queued%s", plural.Of(count.Items, "order"), plural.Of(count.Queued, "change"), ifWaiting(count.Waiting))
	}
	r.Failed = func(keys map[string]types.AttributeValue, err error) {
		// An order that cannot be read must not stop the others; it is counted and named.
		if order := views.OrderOf(m, keys); order != "" {
			fmt.Fprintf(c.ErrOrStderr(), "order %s is left out: %v\n", order, err)
		}
	}

	count, err := r.Run(c.Context())

	var printed error
	if s.JSON {
		printed = terminal.PrintJSON(c.OutOrStdout(), count)
	} else {
		printRebuild(c.OutOrStdout(), flags, count)
	}

	// Printed also after an error: the queued changes stay queued.
	switch {
	case err != nil:
		return err
	case printed == nil && count.Failed > 0:
		return exit.With(exit.Failure, fmt.Errorf("%s could not be read", plural.Of(count.Failed, "order")))
	}

	return printed
}

func printRebuild(out io.Writer, flags redelivery, count replay.RebuildCount) {
	if count.Resumed {
		fmt.Fprintln(out, "gone on where an earlier run had ended; --restart begins with the first order")
	}

	fmt.Fprintf(out, "%s read, %s proved, %s %s\n", plural.Of(count.Items, "order"), plural.Of(count.Versions, "change"), plural.Of(count.Queued, "delivery"), flags.queued())

	if count.Refused > 0 {
		fmt.Fprintf(out, "%s refused: queued before; --again queues them\n", plural.Of(count.Refused, "delivery"))
	}

	if count.Lost > 0 {
		fmt.Fprintf(out, "%s with lost changes\n", plural.Of(count.Lost, "order"))
	}

	flags.printEffects(out)
}

// printLost prints an order that has lost changes.
func printLost(c *cobra.Command, asJSON bool, order transitions.OrderID, first transitions.TransitionID) {
	if asJSON {
		_ = terminal.PrintJSON(c.OutOrStdout(), map[string]any{"orderId": order, "lostBefore": first}) // the summary fails as well

		return
	}
	fmt.Fprintf(c.OutOrStdout(), "lost: changes of order %s before transition %d\n", order, first)
}
