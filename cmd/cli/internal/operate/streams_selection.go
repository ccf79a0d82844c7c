package operate

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/streams"
)

// streamSelection are the flags that replay and rebuild share: which changes are delivered again.
type streamSelection struct {
	since, order, handler *string
	dryRun                *bool
}

// selectionFlags adds the flags to a command, with its own help for a dry run.
func selectionFlags(c *cobra.Command, dryRun string) streamSelection {
	return streamSelection{
		since:   c.Flags().String("since", "", "only changes since a time, or since a duration ago"),
		order:   c.Flags().String("order", "", "only changes of this order"),
		handler: c.Flags().String("handler", "", "only for this handler"),
		dryRun:  c.Flags().Bool("dry-run", false, dryRun),
	}
}

// check returns since when changes are selected, zero for all, or what is wrong with the flags.
func (f streamSelection) check(c *cobra.Command) (since time.Time, err error) {
	if err := arguments.Given(c.Flags(), "since", "order", "handler"); err != nil {
		return time.Time{}, err
	}

	return arguments.PointInTime("since", *f.since)
}

// selectedHandlers returns the handlers that are selected.
func (f streamSelection) selectedHandlers(b *server.Backend) ([]streams.Handler, error) {
	if *f.handler == "" {
		return b.Handlers(), nil
	}

	h, err := handlerNamed(b, *f.handler)

	return []streams.Handler{h}, err
}

// job returns a job of the kind for what is selected.
func (f streamSelection) job(kind jobs.Kind, since time.Time) jobs.New {
	n := jobs.New{Kind: kind, Filter: jobs.Filter{Handler: *f.handler, Since: since}}

	if *f.order != "" {
		n.IDs = []string{*f.order}
	}

	return n
}

// replayed are the flags of replay.
type replayed struct {
	streamSelection

	again, fromJournal *bool
	maxWaiting         *int
}

func replayFlags(c *cobra.Command) replayed {
	return replayed{
		selectionFlags(c, "count the changes and queue none"),
		c.Flags().Bool("again", false, "repeat effects that have happened"),
		c.Flags().Bool("from-journal", false, "take the changes from the orders' journals, however old"),
		c.Flags().Int("max-waiting", 10_000, "without --from-journal: wait for the workers while more orders wait for a handler, 1 to 100000"),
	}
}

func (f replayed) check(c *cobra.Command) (since time.Time, err error) {
	if *f.maxWaiting < 1 || *f.maxWaiting > 100_000 {
		return time.Time{}, exit.UsageError("max-waiting %d: 1 to 100000", *f.maxWaiting)
	}

	return f.streamSelection.check(c)
}

// token returns a new token for effects that are to be repeated, "" if no effects are repeated.
func (f replayed) token() string {
	if !*f.again {
		return ""
	}

	// A new token for each run: under an old one the effects have happened already.
	return streams.NewAgain()
}

// queued says whether changes were put into a queue.
func (f replayed) queued() string {
	if *f.dryRun {
		return "not queued (dry run)"
	}

	return "queued"
}

// ifWaiting is the end of a line of progress.
func ifWaiting(waiting bool) string {
	if waiting {
		return "; waiting for the workers"
	}

	return ""
}

// printEffects says that effects that have happened are not repeated.
func printEffects(out io.Writer) {
	fmt.Fprintln(out, "effects that have happened are not repeated; a replay with --again repeats notifications")
}
