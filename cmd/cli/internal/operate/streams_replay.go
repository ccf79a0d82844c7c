package operate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/internal/plural"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/replay"
	"ratchet/transitions"
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
however old they are, and with the content that the order has now. A job does it: a worker runs
it, or without workers this command. Ctrl-C pauses it; ` + "`ratchet jobs resume`" + ` goes on.

While it reads, the command is a reader of each shard beside the workers; AWS allows two
readers. When more than --max-waiting orders wait for a handler, it waits for the workers.`

func streamsReplay(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "replay", Short: "Deliver changes that were handled to the handlers again", Args: cobra.NoArgs, Long: streamsReplayHelp,
		Example: "  ratchet streams replay --since 2h --handler journal --dry-run\n" +
			"  ratchet streams replay --order o-1 --handler notify --again",
	}
	flags := replayFlags(c)
	job := jobrun.AddFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		since, err := flags.check(c)
		err = errors.Join(err, job.Check())

		switch {
		case err != nil:
			return err
		// Without a selection it would deliver everything again.
		case *flags.since+*flags.order+*flags.handler == "":
			return exit.UsageError("replay takes at least one of --since, --order and --handler")
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			if *flags.fromJournal {
				return replayJournals(c, s, flags, b, job, since)
			}

			return replayStream(c, s, flags, b, since)
		})
	}

	return s.Long(c, "reading the stream")
}

// replayJournals replays changes that the orders and their journals have: a job does it, and this command a dry run.
func replayJournals(c *cobra.Command, s *settings.Settings, flags replayed, b *server.Backend, job *jobrun.Flags, since time.Time) error {
	// Without a handler of the name a worker could only pause the job.
	handlers, err := flags.selectedHandlers(b)
	if err != nil {
		return err
	}

	if !*flags.dryRun {
		n := flags.job(jobs.ReplayStream, since)
		n.Again = *flags.again

		return job.All(c, s, b, n, "order", "queued")
	}

	r := b.Rebuild(handlers, transitions.OrderID(*flags.order))
	// A replay may queue what was queued before.
	r.Name, r.Restart, r.Repeat, r.DryRun, r.Since = "replay", true, true, true, since
	r.Expand = b.Expander(server.Repair{FromJournal: true})

	return runRebuild(c, s, *flags.again, b.Orders.Mapping(), r)
}

// replayStream replays changes that the stream still has, and prints the counts.
func replayStream(c *cobra.Command, s *settings.Settings, flags replayed, b *server.Backend, since time.Time) error {
	handlers, err := flags.selectedHandlers(b)
	if err != nil {
		return err
	}

	replay := replay.Replay{
		Queue:      b.RetryQueue(),
		Streams:    b.Streams,
		Handlers:   handlers,
		Select:     ofOrder(b.Orders.Mapping(), *flags.order),
		Since:      since,
		Again:      flags.token(),
		DryRun:     *flags.dryRun,
		MaxWaiting: *flags.maxWaiting,
		Progress: func(count replay.Count) {
			s.Progress.Print("%s read, %d selected%s", plural.Of(count.Read, "change"), count.Selected, ifWaiting(count.Waiting))
		},
	}

	count, err := replay.Run(c.Context())

	// The counts are printed also after an error: queued changes are delivered.
	var printed error
	if s.JSON {
		printed = terminal.PrintJSON(c.OutOrStdout(), printedReplay{count, replay.DryRun, replay.Again})
	} else {
		printReplay(c.OutOrStdout(), flags, count, since)
	}

	if err == nil {
		err = printed
	}

	return err
}

// ofOrder selects the records of an order, of all orders if it is empty.
func ofOrder(m transitions.Mapping, order string) func(streams.Record) bool {
	if order == "" {
		return nil
	}

	return func(r streams.Record) bool { return views.OrderOf(m, r.Keys) == order }
}

// printedReplay is the result as it is printed as JSON.
type printedReplay struct {
	replay.Count
	DryRun bool   `json:"dryRun"`
	Again  string `json:"again,omitempty"`
}

func printReplay(out io.Writer, flags replayed, count replay.Count, since time.Time) {
	fmt.Fprintf(out, "%s of %s read, %d selected\n", plural.Of(count.Read, "change"), plural.Of(count.Shards, "shard"), count.Selected)

	for _, handler := range slices.Sorted(maps.Keys(count.Queued)) {
		fmt.Fprintf(out, "%d %s for %s\n", count.Queued[handler], flags.queued(), handler)
	}

	switch {
	case count.Oldest.IsZero():
		fmt.Fprintln(out, "the stream has no changes that were handled")
	// The stream keeps 24 hours, so older changes were not even looked at.
	case since.Before(count.Oldest):
		fmt.Fprintf(out, "the stream has nothing that is older than %s; --from-journal has\n", terminal.Stamp(count.Oldest))
	}

	if !*flags.again {
		printEffects(out)
	}
}
