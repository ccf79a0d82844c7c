package orders

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func ordersWatch(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "watch ORDER", Short: "Print each transition of an order until it ends", Args: cobra.ExactArgs(1),
		Long: "Reads the order every --every and prints its new transitions. Ends when the order is in a\n" +
			"terminal state, in the state of --until, or on Ctrl-C. Without --until it also ends in the\n" +
			"states that the definition lists as settled: for a shop those from DELIVERED on.",
	}
	every := c.Flags().Duration("every", 250*time.Millisecond, "pause between two reads, at least 10ms")
	until := c.Flags().String("until", "", "also end in this state; default: the settled states of the definition")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *every < 10*time.Millisecond {
			return exit.UsageError("every %s: at least 10ms", *every)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			d := b.Orders.Definition()

			ends := func(state workflow.State) bool { return d.Terminal(state) || state == workflow.State(*until) }
			switch {
			case *until == "" && !c.Flags().Changed("until"):
				ends = func(state workflow.State) bool { return d.Terminal(state) || d.Settled(state) }
			// A typo would wait forever.
			case !d.HasState(workflow.State(*until)):
				return exit.UsageError("until %q: no such state (see `ratchet workflow show`)", *until)
			}

			return watch(c.Context(), c.OutOrStdout(), b, args[0], *every, ends, s.JSON)
		})
	}

	return c
}

// watch prints transitions as the order's ring shows them.
func watch(ctx context.Context, out io.Writer, b *server.Backend, id string, every time.Duration, ends func(workflow.State) bool, asJSON bool) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()

	var seen transitions.TransitionID
	for {
		order, err := getOrder(ctx, b, id)
		if err != nil {
			return err
		}

		// The ring holds eight transitions. If more are made between two reads, the oldest are missed.
		for _, t := range order.Recent() {
			if t.ID <= seen {
				continue
			}

			seen = t.ID
			if asJSON {
				err = terminal.PrintJSON(out, t)
			} else {
				_, err = fmt.Fprintf(out, "%s  %3d  %-14s %s\n", t.At.Local().Format("15:04:05.000"), t.ID, t.Event, t.To)
			}

			if err != nil {
				return err
			}
		}

		// The event that ends the wait is printed above.
		if ends(order.State) {
			return nil
		}

		select {
		// Ctrl-C is the normal end of a watch.
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
