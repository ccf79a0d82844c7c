package operate

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
)

func deadLettersList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list [HANDLER]", Short: "List dead letters, of one handler or of all", Args: cobra.MaximumNArgs(1),
		Long:    "Lists dead letters by handler and item. Those of one item are in the order of the stream.",
		Example: "  ratchet deadletters list\n  ratchet deadletters list --order o-1\n  ratchet deadletters list notify --json | jq -r .id",
	}
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "at most this many of each handler")
	order := c.Flags().String("order", "", "only those about this order")
	after := c.Flags().String("after", "", "continue after this letter of HANDLER")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := arguments.Given(c.Flags(), "order"); err != nil {
			return err
		}

		if *after != "" && len(args) == 0 {
			return exit.UsageError("after: only with a HANDLER")
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			handlers := b.EveryHandlerName()
			if len(args) == 1 {
				h, err := handlerNamed(b, args[0])
				if err != nil {
					return err
				}
				handlers = []string{h.Name}
			}

			m := b.Orders.Mapping()

			var found []views.PrintedDeadLetter
			for _, handler := range handlers {
				// Paged by handler: ids of dead letters are unique only within a handler.
				page, next, err := listDeadLetters(c.Context(), m, b.DeadLetters(), handler, *order, *after, *limit)
				if err != nil {
					return err
				}

				for _, l := range page {
					found = append(found, views.ToPrinted(m, l))
				}

				if next != "" {
					fmt.Fprintf(c.ErrOrStderr(), "more of %s: --after %s\n", handler, next)
				}
			}

			return printDeadLetters(c.OutOrStdout(), s.JSON, found)
		})
	}

	return c
}

// listDeadLetters lists dead letters of a handler, of one order if it is not "".
func listDeadLetters(ctx context.Context, m transitions.Mapping, letters deadletters.Letters, handler, order, after string, limit int) ([]deadletters.Letter, string, error) {
	if order == "" {
		return letters.List(ctx, handler, after, limit)
	}

	return letters.OfItem(ctx, handler, m.ItemKey(transitions.OrderID(order)), after, limit)
}

func printDeadLetters(out io.Writer, asJSON bool, letters []views.PrintedDeadLetter) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "HANDLER\tLETTER\tORDER\tFAILED\tATTEMPTS\tERROR")
	}

	for _, l := range letters {
		if asJSON {
			if err := terminal.PrintJSON(out, l); err != nil {
				return err
			}
			continue
		}
		// The rest of a long error is shown by `show`.
		first, _, _ := strings.Cut(l.Error, "\n")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", l.Handler, l.ID, l.Order, terminal.Stamp(l.FailedAt), l.Attempts+l.Redrives, first)
	}

	return w.Flush()
}
