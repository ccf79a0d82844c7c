package operate

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/replay"
	"ratchet/transitions"
)

// redelivery are the flags that replay and rebuild share: which changes are delivered again, and
// how.
type redelivery struct {
	since, order, handler      *string
	again, dryRun, fromJournal *bool
	maxWaiting                 *int
}

// redeliveryFlags adds the flags to a command. Flags whose meaning depends on the command get their
// help from it.
func redeliveryFlags(c *cobra.Command, again, dryRun, fromJournal string) redelivery {
	return redelivery{
		since:       c.Flags().String("since", "", "only changes since a time, or since a duration ago"),
		order:       c.Flags().String("order", "", "only changes of this order"),
		handler:     c.Flags().String("handler", "", "only for this handler"),
		again:       c.Flags().Bool("again", false, again),
		dryRun:      c.Flags().Bool("dry-run", false, dryRun),
		fromJournal: c.Flags().Bool("from-journal", false, fromJournal),
		maxWaiting:  c.Flags().Int("max-waiting", 10_000, "wait for the workers while more orders wait for a handler, 1 to 100000"),
	}
}

// check returns since when changes are selected, zero for all, or what is wrong with the flags.
func (f redelivery) check(c *cobra.Command) (since time.Time, err error) {
	if err := arguments.Given(c.Flags(), "since", "order", "handler"); err != nil {
		return time.Time{}, err
	}

	if *f.maxWaiting < 1 || *f.maxWaiting > 100_000 {
		return time.Time{}, exit.UsageError("max-waiting %d: 1 to 100000", *f.maxWaiting)
	}

	return arguments.PointInTime("since", *f.since)
}

// selectedHandlers returns the handlers that are selected.
func (f redelivery) selectedHandlers(b *server.Backend) ([]streams.Handler, error) {
	if *f.handler == "" {
		return b.Handlers(), nil
	}

	h, err := handlerNamed(b, *f.handler)

	return []streams.Handler{h}, err
}

// token returns a new token for effects that are to be repeated, "" if no effects are repeated.
func (f redelivery) token() string {
	if !*f.again {
		return ""
	}

	// A new token for each run: under an old one the effects have happened already.
	return streams.NewAgain()
}

// rebuild returns a Rebuild of the selected changes.
func (f redelivery) rebuild(b *server.Backend, since time.Time) (replay.Rebuild, error) {
	handlers, err := f.selectedHandlers(b)
	if err != nil {
		return replay.Rebuild{}, err
	}

	r := b.Rebuild(handlers, transitions.OrderID(*f.order))
	r.Since, r.Again, r.DryRun, r.MaxWaiting = since, f.token(), *f.dryRun, *f.maxWaiting

	return r, nil
}

// ifWaiting is the end of a line of progress.
func ifWaiting(waiting bool) string {
	if waiting {
		return "; waiting for the workers"
	}

	return ""
}

// printEffects says whether effects that have happened are repeated.
func (f redelivery) printEffects(out io.Writer) {
	if !*f.again {
		fmt.Fprintln(out, "effects that have happened are not repeated; --again repeats notifications")
	}
}

// queued says whether changes were put into a queue.
func (f redelivery) queued() string {
	if *f.dryRun {
		return "not queued (dry run)"
	}

	return "queued"
}
