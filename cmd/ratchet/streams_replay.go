package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/streams"
)

const streamsReplayHelp = `Delivers changes of orders to the stream's handlers again: those that the stream still has (24
hours), and that the workers have handled. Later ones will be delivered in any case. The
command reads the stream and puts the changes into the handlers' retry queues; the workers
deliver them, one after the other for each order. An order's newer changes wait meanwhile.

Effects that have happened are not repeated, because their claims are completed: without
--again a replay only repeats what left no trace. With --again customers are notified once
more, under new keys. The other handlers act once per order in any case: a shipment is not
booked twice, and no payment is captured twice.

With --from-journal the changes come from the orders' journals and what the orders remember,
however old they are. The content of an order (lines, total, addresses, notes) is then that
of now.

While it reads, the command is a reader of each shard beside the workers; AWS allows two
readers. When more than --max-waiting orders wait for a handler, it waits for the workers.

Exit status: 0 all changes are in the queues (or, with --dry-run, were counted), 1 it ended
early; what was queued until then is delivered.`

// replaySelection is the flags that select changes.
type replaySelection struct {
	since, order, handler *string
}

func replaySelectionFlags(c *cobra.Command) replaySelection {
	return replaySelection{
		since:   c.Flags().String("since", "", "only changes since a time, or since a duration ago"),
		order:   c.Flags().String("order", "", "only changes of this order"),
		handler: c.Flags().String("handler", "", "only for this handler"),
	}
}

// handlers returns the handlers that are selected.
func (f replaySelection) handlers(b *server.Backend) ([]streams.Handler, error) {
	if *f.handler == "" {
		return b.Handlers(), nil
	}

	h, err := handlerNamed(b, *f.handler)

	return []streams.Handler{h}, err
}

func streamsReplay(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "replay", Short: "Deliver changes that were handled to the handlers again", Args: cobra.NoArgs, Long: streamsReplayHelp,
		Example: "  ratchet streams replay --since 2h --handler journal --dry-run\n" +
			"  ratchet streams replay --order o-1 --handler notify --again",
	}
	selection := replaySelectionFlags(c)
	again := c.Flags().Bool("again", false, "repeat effects that have happened")
	dryRun := c.Flags().Bool("dry-run", false, "count the changes and queue none")
	fromJournal := c.Flags().Bool("from-journal", false, "take the changes from the orders' journals, however old")
	maxWaiting := c.Flags().Int("max-waiting", 10_000, "wait for the workers while more orders wait for a handler, 1 to 100000")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := given(c.Flags(), "since", "order", "handler"); err != nil {
			return err
		}

		since, err := pointInTime("since", *selection.since)

		switch {
		case err != nil:
			return err
		case *selection.since+*selection.order+*selection.handler == "":
			return usageError("replay takes at least one of --since, --order and --handler")
		case *maxWaiting < 1 || *maxWaiting > 100_000:
			return usageError("max-waiting %d: 1 to 100000", *maxWaiting)
		}

		token := ""
		if *again {
			token = streams.NewAgain()
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			if *fromJournal {
				r, err := selection.rebuild(c, b)
				if err != nil {
					return err
				}

				r.Name, r.Restart, r.Repeat = "replay", true, true
				r.Again, r.DryRun, r.MaxWaiting = token, *dryRun, *maxWaiting
				r.Expand = b.Expander(server.Repair{FromJournal: true})

				return runRebuild(c, s, r)
			}

			handlers, err := selection.handlers(b)
			if err != nil {
				return err
			}

			progress := newProgress(c.ErrOrStderr())
			replay := streams.Replay{
				Queue:      b.RetryQueue(),
				Streams:    b.Streams,
				Handlers:   handlers,
				Select:     ofOrder(*selection.order),
				Since:      since,
				Again:      token,
				DryRun:     *dryRun,
				MaxWaiting: *maxWaiting,
				Progress: func(count streams.ReplayCount) {
					waiting := ""
					if count.Waiting {
						waiting = "; waiting for the workers"
					}
					progress.print("%d changes read, %d selected%s", count.Read, count.Selected, waiting)
				},
			}
			count, err := replay.Run(c.Context())
			if printed := printReplay(c.OutOrStdout(), s.json, count, replay, since); err == nil {
				err = printed
			}

			return err
		})
	}

	return c
}

// ofOrder selects the records of an order, of all orders if it is empty.
func ofOrder(order string) func(streams.Record) bool {
	if order == "" {
		return nil
	}

	return func(r streams.Record) bool {
		id, ok := r.Keys["orderId"].(*types.AttributeValueMemberS)
		return ok && id.Value == order
	}
}

// printedReplay is what the command prints as JSON.
type printedReplay struct {
	streams.ReplayCount
	DryRun bool   `json:"dryRun"`
	Again  string `json:"again,omitempty"`
}

func printReplay(out io.Writer, asJSON bool, count streams.ReplayCount, r streams.Replay, since time.Time) error {
	if asJSON {
		return printJSON(out, printedReplay{count, r.DryRun, r.Again})
	}

	fmt.Fprintf(out, "%d changes of %d shards read, %d selected\n", count.Read, count.Shards, count.Selected)

	queued := "queued for"
	if r.DryRun {
		queued = "not queued (dry run) for"
	}

	for _, handler := range slices.Sorted(maps.Keys(count.Queued)) {
		fmt.Fprintf(out, "%d %s %s\n", count.Queued[handler], queued, handler)
	}

	switch {
	case count.Oldest.IsZero():
		fmt.Fprintln(out, "the stream has no changes that were handled")
	case since.Before(count.Oldest):
		fmt.Fprintf(out, "the stream has nothing that is older than %s; --from-journal has\n", stamp(count.Oldest))
	}

	if r.Again == "" {
		fmt.Fprintln(out, "effects that have happened are not repeated; --again repeats notifications")
	}

	return nil
}
