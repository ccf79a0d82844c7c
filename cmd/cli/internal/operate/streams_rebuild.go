package operate

import (
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/internal/plural"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/streams/replay"
	"ratchet/transitions"
)

const streamsRebuildHelp = `Repairs the stream's handlers after a gap, or fills a new handler (--handler): reads the orders and
puts the changes that they still prove, under their own transition ids, into the handlers'
retry queues, marked as repaired. The workers deliver them, oldest first for each order, while
they go on with the stream; an order's newer changes wait meanwhile.

An order remembers its newest 8 changes, and the rows of its journal count as well. Older ones that
neither has are lost: the order is printed (changes_lost), and its journal gets a row "lost" that
closes the chain, so that questions about them get a final answer. A change that arrives after all
replaces that row. First let the workers read the stream to its end.

Effects that have happened are not repeated, because their claims are completed. What was
queued for an order and a handler is not queued again within 30 days;
` + "`ratchet streams replay --from-journal --again`" + ` does that, and repeats notifications.

A job does it, for up to a million orders: a worker runs it, or without workers this command. Ctrl-C
pauses it, and ` + "`ratchet jobs resume`" + ` goes on. For more orders, run it with --since for the newest.`

func streamsRebuild(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "rebuild", Short: "Repair the stream's handlers from the orders", Args: cobra.NoArgs, Long: streamsRebuildHelp,
		Example: "  ratchet streams rebuild --since 48h --dry-run\n" +
			"  ratchet streams rebuild --handler lists",
	}
	flags := selectionFlags(c, "count the changes, queue none and close no journal")
	job := jobrun.AddFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		since, err := flags.check(c)
		if err := errors.Join(err, job.Check()); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			// Without a handler of the name a worker could only pause the job.
			handlers, err := flags.selectedHandlers(b)
			if err != nil {
				return err
			}

			if !*flags.dryRun {
				return job.All(c, s, b, flags.job(jobs.RefillStream, since), "order", "queued")
			}

			r := b.Rebuild(handlers, transitions.OrderID(*flags.order))
			// A dry run begins at the first order each time.
			r.Name, r.Restart, r.DryRun, r.Since = "rebuild", true, true, since
			r.Expand = b.Expander(server.Repair{FromJournal: true, Lost: func(order transitions.OrderID, first transitions.TransitionID) {
				printLost(c, s.JSON, order, first)
			}})

			return runRebuild(c, s, false, b.Orders.Mapping(), r)
		})
	}

	return s.Long(c, "reading orders")
}

// runRebuild runs the Rebuild of a dry run and prints its counts.
func runRebuild(c *cobra.Command, s *settings.Settings, again bool, m transitions.Mapping, r replay.Rebuild) error {
	r.Progress = func(count replay.RebuildCount) {
		s.Progress.Print("%s read, %s counted", plural.Of(count.Items, "order"), plural.Of(count.Queued, "change"))
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
		printRebuild(c.OutOrStdout(), again, count)
	}

	switch {
	case err != nil:
		return err
	case printed == nil && count.Failed > 0:
		return exit.With(exit.Failure, fmt.Errorf("%s could not be read", plural.Of(count.Failed, "order")))
	}

	return printed
}

func printRebuild(out io.Writer, again bool, count replay.RebuildCount) {
	fmt.Fprintf(out, "%s read, %s proved, %s not queued (dry run)\n", plural.Of(count.Items, "order"), plural.Of(count.Versions, "change"), plural.Of(count.Queued, "delivery"))

	if count.Refused > 0 {
		fmt.Fprintf(out, "%s refused: queued before\n", plural.Of(count.Refused, "delivery"))
	}

	if count.Lost > 0 {
		fmt.Fprintf(out, "%s with lost changes\n", plural.Of(count.Lost, "order"))
	}

	if !again {
		printEffects(out)
	}
}

// printLost prints an order that has lost changes.
func printLost(c *cobra.Command, asJSON bool, order transitions.OrderID, first transitions.TransitionID) {
	if asJSON {
		_ = terminal.PrintJSON(c.OutOrStdout(), map[string]any{"orderId": order, "lostBefore": first}) // the summary fails as well

		return
	}
	fmt.Fprintf(c.OutOrStdout(), "lost: changes of order %s before transition %d\n", order, first)
}
