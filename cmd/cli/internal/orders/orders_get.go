package orders

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
)

func ordersGet(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "get ORDER", Short: "Show an order as it is now, or at an earlier time", Args: cobra.ExactArgs(1),
		Long: "Shows the order as it is now. With --at or --after it shows the order at that point, from its\n" +
			"journal: state, transition and version of the definition, without its content.",
	}
	at := c.Flags().String("at", "", "show the order at this time, like 2026-03-01T12:00:00Z")
	after := c.Flags().Int64("after", 0, "show the order after the transition with this id")
	c.RunE = func(c *cobra.Command, args []string) error {
		var moment time.Time
		var err error
		switch {
		case *at != "" && *after != 0:
			return exit.UsageError("--at or --after, not both")
		case *after < 0:
			return exit.UsageError("after %d: ids count from 1", *after)
		case *at != "":
			// Times are stored in milliseconds and printed with fractions, so times with
			// fractions must be accepted.
			if moment, err = time.Parse(time.RFC3339Nano, *at); err != nil {
				return exit.UsageError("at %q: must be like 2026-03-01T12:00:00Z", *at)
			}
		}
		id := transitions.OrderID(args[0])

		return s.With(c.Context(), func(b *server.Backend) error {
			if *at != "" || *after != 0 {
				return printPast(s, c, b, id, moment, transitions.TransitionID(*after))
			}

			order, err := getOrder(c.Context(), b, args[0])
			if err != nil {
				return err
			}
			timed := withTimers(b, order)

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), timed)
			}
			printOrder(c.OutOrStdout(), timed)

			return nil
		})
	}

	return c
}

// printPast prints the order's state after the transition, or at the time if after is 0.
func printPast(s *settings.Settings, c *cobra.Command, b *server.Backend, id transitions.OrderID, at time.Time, after transitions.TransitionID) error {
	var view inspect.View
	var err error
	if after > 0 {
		view, err = inspect.StateAfter(c.Context(), b.Orders, id, after)
	} else {
		view, err = inspect.StateAt(c.Context(), b.Orders, id, at)
	}

	switch {
	// Both mean that there is nothing to show, with different texts.
	case errors.Is(err, transitions.ErrUnknownOrder), errors.Is(err, inspect.ErrBeforeOrder):
		return exit.With(exit.NotFound, err)
	case err != nil:
		return err
	case s.JSON:
		return terminal.PrintJSON(c.OutOrStdout(), view)
	}

	text := fmt.Sprintf("order %s was %s since transition %d at %s", view.OrderID, view.State, view.TransitionID, terminal.Stamp(view.At))
	if view.DefinitionVersion > 0 { // the ring, which is read if the journal lags, has no versions
		text += fmt.Sprintf(", by version %d of the definition", view.DefinitionVersion)
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), text)

	return err
}

// printTexts prints the members of an address or of the metadata, one on each line.
func printTexts(w io.Writer, name string, texts map[string]string) {
	for _, member := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(w, "%s %s\t%s\n", name, member, texts[member])
	}
}

// priceOf returns the price of a line's piece, nothing if the order has no total.
func priceOf(o *transitions.Order, item transitions.Item) string {
	if o.Total == (transitions.Money{}) {
		return ""
	}
	return " at " + views.Money(transitions.Money{Amount: item.Price, Currency: o.Total.Currency})
}

func printOrder(out io.Writer, o timedOrder) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "order\t%s\nincarnation\t%s\nstate\t%s\ntransition\t%d\n", o.ID, o.Incarnation, o.State, o.TransitionID)

	if o.Total != (transitions.Money{}) {
		fmt.Fprintf(w, "total\t%s\n", views.Money(o.Total))
	}
	fmt.Fprintf(w, "updated\t%s\n", terminal.StampOf(o.UpdatedAt))

	if o.Cause != (transitions.Cause{}) {
		fmt.Fprintf(w, "cause\t%s\n", arguments.DescribeCause(o.Cause))
	}

	if o.EditCause != (transitions.Cause{}) {
		fmt.Fprintf(w, "last edit\t%s\n", arguments.DescribeCause(o.EditCause))
	}

	for _, row := range [][2]string{{"customer", o.Customer}, {"reference", o.Reference}} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}

	printTexts(w, "shipping", o.Shipping)
	printTexts(w, "billing", o.Billing)
	printTexts(w, "metadata", o.Metadata)
	printOwn(w, o.Own)

	for _, item := range o.Items {
		shipped := ""
		if item.Shipped > 0 {
			shipped = fmt.Sprintf(", %d shipped", item.Shipped)
		}
		fmt.Fprintf(w, "item\t%d x %s%s%s\n", item.Quantity, item.SKU, priceOf(o.Order, item), shipped)
	}

	for _, t := range o.Timers {
		fmt.Fprintf(w, "timer\t%s\n", describeTimer(t))
	}

	if len(o.Unreadable) > 0 {
		fmt.Fprintf(w, "unreadable\t%s\n", unreadable(o.Order))
	}
	_ = w.Flush() // the terminal may be closed
}

// unreadable names the attributes that the order is shown without.
func unreadable(o *transitions.Order) string {
	return strings.Join(o.Unreadable, ", ") + " (another form than Ratchet writes; shown without)"
}
