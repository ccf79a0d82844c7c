package develop

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func triggerCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "trigger EVENT", Short: "Bring a sample order to an event, to see what follows", Args: cobra.ExactArgs(1),
		Long: "Places a sample order without an execution and applies the events that lead to EVENT, then EVENT\n" +
			"itself. Its reactions are real: the carrier books a shipment, endpoints get notifications.\n" +
			"With --order it goes on from where that order is.",
		Example: "  ratchet trigger ship\n  ratchet trigger cancel --order o-1",
	}
	id := c.Flags().String("order", "", "go on with this order, or place it under this id")
	sku := c.Flags().String("sku", "sample", "SKU of the sample order")
	amount := c.Flags().Int64("amount", 1000, "its price, in minor units")
	currency := c.Flags().String("currency", "EUR", "its currency")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *id == "" {
			*id = "sample-" + strings.ToLower(rand.Text()[:10])
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			definition := b.Orders.Definition()

			order, found, err := b.Orders.Get(c.Context(), transitions.OrderID(*id))
			if err != nil {
				return err
			}

			// An order that does not exist begins in the initial state.
			state := definition.Initial()
			if found {
				state = order.State
			}

			// The path is found before anything is written: an event that cannot be reached places
			// no order.
			path, ok := pathTo(definition, state, workflow.Event(args[0]))
			if !ok {
				return exit.UsageError("event %q: no order in %s can come to it (see `ratchet workflow show`)", args[0], state)
			}

			sample := transitions.NewOrder{ID: transitions.OrderID(*id), Cause: arguments.CliCause()}
			if definition.Has(workflow.PartItems) {
				sample.Items = []transitions.Item{{SKU: *sku, Quantity: 1, Price: *amount}}
			}

			if definition.Has(workflow.PartTotal) {
				sample.Total = transitions.Money{Amount: *amount, Currency: *currency}
			}

			// Without an execution: the events are applied here, one by one.
			if !found {
				if _, err := b.Orders.Create(c.Context(), sample); err != nil {
					return err
				}
			}

			for _, event := range path {
				r, err := b.Orders.Apply(c.Context(), transitions.Request{
					OrderID: sample.ID,
					Event:   event,
					// A new id for each event, so that each call is a new request.
					RequestID: transitions.RequestID("trigger-" + arguments.NewRequestID()),
					Cause:     arguments.CliCause(),
				})
				if err != nil {
					return err
				}

				if err := views.PrintResult(c.OutOrStdout(), s.JSON, sample.ID, r); err != nil {
					return fmt.Errorf("%s: %w", event, err)
				}
			}

			return nil
		})
	}

	return c
}

// pathTo returns the shortest sequence of events that begins in the state and ends with the event.
func pathTo(d *workflow.Definition, from workflow.State, last workflow.Event) ([]workflow.Event, bool) {
	type step struct {
		state workflow.State
		path  []workflow.Event
	}

	seen := map[workflow.State]bool{from: true}
	for queue := []step{{state: from}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		// Breadth first, so the first path that is found is a shortest one.
		if _, ok := d.Next(at.state, last); ok {
			return append(at.path, last), true
		}

		for _, event := range d.Events() {
			// Guards are ignored here; a refusal is printed when the event is applied.
			next, ok := d.Next(at.state, event)
			if !ok || seen[next] {
				continue
			}
			seen[next] = true
			// The path is cut to its length, so that append copies it: two steps must not share an
			// array.
			queue = append(queue, step{next, append(at.path[:len(at.path):len(at.path)], event)})
		}
	}

	return nil, false
}
