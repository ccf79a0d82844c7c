package operate

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/streams/retryqueue"
)

func streamsPause(s *settings.Settings) *cobra.Command {
	return handlerSwitch(s, &cobra.Command{
		Use: "pause HANDLER", Short: "Stop the calls of a handler; its records wait",
		Long: `Stops the calls of a handler on all workers, until it is resumed: for a deployment or an outage of
what it calls. Its changes go to its retry queue and wait there, also for longer than the 24
hours for which a stream keeps them. Other handlers go on. The workers learn of it within 5
seconds; calls that run then end as usual.

Each change that waits costs one write, and two reads and a write when it is handled. While the
journal is paused, questions about older transitions have no final answer.`,
		Example: "  ratchet streams pause notify",
	}, "paused", retryqueue.Queue.Pause)
}

func streamsResume(s *settings.Settings) *cobra.Command {
	return handlerSwitch(s, &cobra.Command{
		Use: "resume HANDLER", Short: "Let a paused handler go on with what waits",
		Long: `Ends the pause of a handler. The workers deliver what waits, the oldest change of each order
first; they begin within 5 seconds.`,
		Example: "  ratchet streams resume notify",
	}, "resumed", retryqueue.Queue.Resume)
}

// handlerSwitch completes a command that changes whether a handler is paused.
func handlerSwitch(s *settings.Settings, c *cobra.Command, done string, act func(retryqueue.Queue, context.Context, string) error) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			h, err := handlerNamed(b, args[0])
			if err != nil {
				return err
			}

			if err := act(b.RetryQueue(), c.Context(), h.Name); err != nil {
				return err
			}

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), map[string]string{"handler": h.Name, "status": done})
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", h.Name, done)

			return err
		})
	}

	return c
}
