package orders

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/internal/worker"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// handlersTime is how long a command waits for handlers that have not acted yet.
const handlersTime = 2 * time.Second

// isYoung reports whether effects are due and none of them has failed.
func isYoung(due []inspect.Due) bool {
	failed := func(d inspect.Due) bool {
		return d.Error != "" || d.Attempts > 0 || !d.PausedAt.IsZero() || d.Report != ""
	}

	return len(due) > 0 && !slices.ContainsFunc(due, failed)
}

// forceFlag adds the flag that lets an event skip effects. The returned function refuses the event if it
// would skip an effect that is due and the flag is not set.
func forceFlag(c *cobra.Command, cause func() transitions.Cause) func(context.Context, *server.Backend, transitions.OrderID, workflow.Event, func(*transitions.Order) bool) error {
	force := c.Flags().Bool("force", false, "also if the event skips an effect that is due; wants --reason or --reason-text")

	return func(ctx context.Context, b *server.Backend, id transitions.OrderID, event workflow.Event, made func(*transitions.Order) bool) error {
		if why := cause(); *force && why.Code == "" && why.Text == "" {
			return exit.UsageError("force: say why with --reason or --reason-text")
		}

		if *force {
			return nil
		}

		due, err := b.DueBefore(ctx, id, event, made)
		// A handler that has not acted yet usually does so at once.
		for end := time.Now().Add(handlersTime); err == nil && isYoung(due) && time.Now().Before(end) && worker.Wait(ctx, handlersTime/20); {
			due, err = b.DueBefore(ctx, id, event, made)
		}

		if err != nil {
			return fmt.Errorf("it is not known which effects %s would skip: %w (--force with a reason asks for it all the same)", event, err)
		}

		if len(due) == 0 {
			return nil
		}

		what := make([]string, len(due))
		for i, d := range due {
			if what[i] = d.What; d.Error != "" {
				what[i] += " (" + d.Error + ")"
			}
		}

		return exit.With(exit.Refused, fmt.Errorf("%s would skip what is due: %s. `ratchet orders explain %s` says more; --force with a reason asks for it all the same", event, strings.Join(what, "; "), id))
	}
}
