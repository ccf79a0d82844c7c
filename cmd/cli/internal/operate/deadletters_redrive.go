package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/streams/deadletters"
)

func deadLettersRedrive(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "redrive [HANDLER LETTER]", Short: "Let the workers handle dead letters once more", Args: cobra.MaximumNArgs(2),
		Long: `Puts a dead letter, or those that --order or --all select, into the retry queue of its
handler. The workers handle it there, with the handler's retries, after its order's earlier
dead letters; they begin within about ten seconds. If the handler succeeds, the dead letter is
deleted. If it gives up again, or the change needs no handling any more, the dead letter stays,
with the new error.

With --order and --all a job does it: a worker runs it, or without workers this command. Ctrl-C pauses it,
and ` + "`ratchet jobs resume`" + ` goes on.`,
		Example: "  ratchet deadletters redrive --order o-1\n" +
			"  ratchet deadletters redrive notify LETTER --wait 1m\n" +
			"  ratchet deadletters redrive --all --handler notify --since 2h --error 503 --dry-run",
	}
	selection := deadLetterSelectionFlags(c)
	wait := c.Flags().Duration("wait", 0, "with HANDLER LETTER: wait so long for the result")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := selection.check(c, args); err != nil {
			return err
		}

		if *wait < 0 || (*wait > 0 && selection.many()) {
			return exit.UsageError("wait %s: 0 or more, and only with HANDLER LETTER", *wait)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			err := selection.each(c, s, b, args, jobs.RedriveDeadLetters, "queued", func(l deadletters.Letter) error {
				return b.RetryQueue().Redrive(c.Context(), l.Handler, l.ID)
			})
			if err != nil || *wait == 0 || *selection.dryRun {
				return err
			}

			s.Progress.Print("waiting for the workers")

			return waitForRedrive(c, b, args[0], args[1], *wait)
		})
	}

	return s.Long(c, "reading dead letters")
}

// waitForRedrive waits until the workers have handled the dead letter or given it up again.
func waitForRedrive(c *cobra.Command, b *server.Backend, handler, id string, longest time.Duration) error {
	ctx, cancel := context.WithTimeout(c.Context(), longest)
	defer cancel()

	tick := time.NewTicker(min(longest, 200*time.Millisecond))
	defer tick.Stop()

	for {
		l, err := b.DeadLetters().Get(c.Context(), handler, id)
		switch {
		// A success deletes the dead letter.
		case errors.Is(err, deadletters.ErrNotFound):
			fmt.Fprintln(c.ErrOrStderr(), "handled; the dead letter is deleted")
			return nil
		case err != nil:
			return err
		// The dead letter has left the queue: the handler failed again.
		case l.QueuedAt.IsZero():
			return exit.With(exit.Refused, fmt.Errorf("the dead letter stays: %s", l.Error))
		}

		select {
		case <-ctx.Done():
			return exit.With(exit.Refused, fmt.Errorf("not handled within %s; the dead letter is still in the queue", longest))
		case <-tick.C:
		}
	}
}
