package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// forceFlag adds the flag that lets an event skip effects. The returned function refuses the event if it
// would skip an effect that is due and the flag is not set.
func forceFlag(c *cobra.Command, cause func() transitions.Cause) func(context.Context, *server.Backend, transitions.OrderID, workflow.Event) error {
	force := c.Flags().Bool("force", false, "also if the event skips an effect that is due; wants --reason or --reason-text")

	return func(ctx context.Context, b *server.Backend, id transitions.OrderID, event workflow.Event) error {
		if why := cause(); *force && why.Code == "" && why.Text == "" {
			return usageError("force: say why with --reason or --reason-text")
		}

		if *force {
			return nil
		}

		due, err := b.DueBefore(ctx, id, event)
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

		return &statusError{exitRefused, fmt.Errorf("%s would skip what is due: %s. `ratchet orders explain %s` says more; --force with a reason asks for it all the same", event, strings.Join(what, "; "), id)}
	}
}
