package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/transitions"
)

func inventoryAddItems(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "add-items ORDER SKU:QUANTITY:PRICE...", Short: "Add lines to an order and reserve their pieces, in one transaction", Args: cobra.MinimumNArgs(2),
		Long: "Adds lines to an order that is not paid yet, and reserves their pieces: all or nothing. A\n" +
			"repeat with the same --event-id changes nothing.",
	}
	event := c.Flags().String("event-id", "", "name of this edit; default: a new name for each call")
	c.RunE = func(c *cobra.Command, args []string) error {
		var lines []transitions.Item
		for _, text := range args[1:] {
			line, err := arguments.ParseItem(text)
			if err != nil {
				return err
			}
			lines = append(lines, line)
		}

		e := transitions.Edit{OrderID: transitions.OrderID(args[0]), EventID: transitions.RequestID(*event)}
		// Every call is then a new edit.
		if e.EventID == "" {
			e.EventID = transitions.RequestID("cli-" + arguments.NewRequestID())
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			r, err := b.AddItems(c.Context(), e, lines...)
			switch {
			case err != nil:
				return err
			// Success has a text of its own, which names the pieces; a refusal is described like
			// any edit's.
			case r.Verdict.Done() && !s.JSON:
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s for order %s, with their pieces\n", r.Verdict, plural.Of(len(lines), "line"), e.OrderID)
				return err
			}

			return views.PrintEdit(c.OutOrStdout(), s.JSON, e.OrderID, r)
		})
	}

	return s.Takes(c, settings.OrdersFlags)
}
