package money

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/once/actions"
)

func actionsGet(a *actionSettings) *cobra.Command {
	return &cobra.Command{
		Use: "get ID", Short: "Show an action without using it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := a.id(c, args[0])
			if err != nil {
				return err
			}

			return a.with(c, func(all *actions.Actions) error {
				v, found, err := all.Get(c.Context(), id)
				switch {
				case err != nil:
					return err
				case !found:
					return fmt.Errorf("%s: %w", id, exit.ErrNotFound)
				case a.JSON:
					return terminal.PrintJSON(c.OutOrStdout(), v)
				}

				return printAction(c.OutOrStdout(), v)
			})
		},
	}
}

func printAction(out io.Writer, v actions.Action) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "state\t%s\n", v.State)

	for _, at := range []struct {
		what string
		time time.Time
	}{{"created", v.CreatedAt}, {"active from", v.ActiveAt}, {"expires", v.ExpiresAt}, {"held until", v.HeldUntil}, {"consumed", v.ConsumedAt}, {"canceled", v.CanceledAt}} {
		// Times that have not come are the zero time and have no line.
		if !at.time.IsZero() {
			fmt.Fprintf(w, "%s\t%s\n", at.what, terminal.Stamp(at.time))
		}
	}

	if v.PINRequired {
		fmt.Fprintf(w, "PIN\t%s left\n", plural.Of(v.AttemptsLeft, "try"))
	}

	if v.Batch != "" {
		fmt.Fprintf(w, "batch\t%s, %d\n", v.Batch, v.Index)
	}

	if len(v.Payload) > 0 {
		fmt.Fprintf(w, "payload\t%s\n", v.Payload)
	}

	return w.Flush()
}
