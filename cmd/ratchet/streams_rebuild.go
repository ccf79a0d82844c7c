package main

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/reactions"
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

The position is noted, and the next run goes on where one has ended early, unless --restart.

Exit status: 0 every order was read, 1 it ended early, or orders could not be read.`

func streamsRebuild(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "rebuild", Short: "Repair the stream's handlers from the orders", Args: cobra.NoArgs, Long: streamsRebuildHelp,
		Example: "  ratchet streams rebuild --since 48h --dry-run\n" +
			"  ratchet streams rebuild --handler lists --from-journal",
	}
	selection := replaySelectionFlags(c)
	fromJournal := c.Flags().Bool("from-journal", false, "take the rows of the journal as well")
	again := c.Flags().Bool("again", false, "queue changes that were queued before, and repeat effects that have happened")
	restart := c.Flags().Bool("restart", false, "begin with the first order")
	dryRun := c.Flags().Bool("dry-run", false, "count the changes, queue none and close no journal")
	maxWaiting := c.Flags().Int("max-waiting", 10_000, "wait for the workers while more orders wait for a handler, 1 to 100000")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *maxWaiting < 1 || *maxWaiting > 100_000 {
			return usageError("max-waiting %d: 1 to 100000", *maxWaiting)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			r, err := selection.rebuild(c, b)
			if err != nil {
				return err
			}

			r.Restart, r.DryRun, r.MaxWaiting, r.Repeat = *restart, *dryRun, *maxWaiting, *again
			if *again {
				r.Again = streams.NewAgain()
			}

			r.Name = "rebuild"
			if *selection.handler != "" {
				r.Name += "-" + *selection.handler
			}

			r.Expand = b.Expander(server.Repair{
				FromJournal:  *fromJournal,
				CloseJournal: !*dryRun && (*selection.handler == "" || *selection.handler == reactions.JournalHandler),
				Lost: func(order transitions.OrderID, first transitions.TransitionID) {
					printLost(c, s.json, order, first)
				},
			})

			return runRebuild(c, s, r)
		})
	}

	return c
}

// rebuild returns a Rebuild of what the flags select.
func (f replaySelection) rebuild(c *cobra.Command, b *server.Backend) (streams.Rebuild, error) {
	if err := given(c.Flags(), "since", "order", "handler"); err != nil {
		return streams.Rebuild{}, err
	}

	since, err := pointInTime("since", *f.since)
	if err != nil {
		return streams.Rebuild{}, err
	}

	handlers, err := f.handlers(b)
	if err != nil {
		return streams.Rebuild{}, err
	}

	r := b.Rebuild(handlers, transitions.OrderID(*f.order))
	r.Since = since

	return r, nil
}

// runRebuild runs the Rebuild and prints what it has done.
func runRebuild(c *cobra.Command, s *settings, r streams.Rebuild) error {
	progress := newProgress(c.ErrOrStderr())
	r.Progress = func(count streams.RebuildCount) {
		waiting := ""
		if count.Waiting {
			waiting = "; waiting for the workers"
		}
		progress.print("%d orders read, %d changes queued%s", count.Items, count.Queued, waiting)
	}
	r.Failed = func(keys map[string]types.AttributeValue, err error) {
		id, _ := keys["orderId"].(*types.AttributeValueMemberS)
		if id != nil {
			fmt.Fprintf(c.ErrOrStderr(), "order %s is left out: %v\n", id.Value, err)
		}
	}

	count, err := r.Run(c.Context())

	var printed error
	if s.json {
		printed = printJSON(c.OutOrStdout(), count)
	} else {
		printed = printRebuild(c, count, r)
	}

	switch {
	case err != nil:
		return err
	case printed == nil && count.Failed > 0:
		return &statusError{exitFailure, fmt.Errorf("%d orders could not be read", count.Failed)}
	}

	return printed
}

func printRebuild(c *cobra.Command, count streams.RebuildCount, r streams.Rebuild) error {
	out := c.OutOrStdout()

	if count.Resumed {
		fmt.Fprintln(out, "gone on where an earlier run had ended; --restart begins with the first order")
	}

	queued := "queued"
	if r.DryRun {
		queued = "not queued (dry run)"
	}
	fmt.Fprintf(out, "%d orders read, %d changes proved, %d deliveries %s\n", count.Items, count.Versions, count.Queued, queued)

	if count.Refused > 0 {
		fmt.Fprintf(out, "%d deliveries refused: they were queued before; --again queues them\n", count.Refused)
	}

	if count.Lost > 0 {
		fmt.Fprintf(out, "%d orders have lost changes\n", count.Lost)
	}

	if r.Again == "" {
		fmt.Fprintln(out, "effects that have happened are not repeated; --again repeats notifications")
	}

	return nil
}

// printLost prints an order that has lost changes.
func printLost(c *cobra.Command, asJSON bool, order transitions.OrderID, first transitions.TransitionID) {
	if asJSON {
		_ = printJSON(c.OutOrStdout(), map[string]any{"orderId": order, "lostBefore": first}) // the summary fails as well

		return
	}
	fmt.Fprintf(c.OutOrStdout(), "lost: changes of order %s before transition %d\n", order, first)
}
