package orders

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func ordersApply(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "apply ORDER EVENT", Short: "Request one transition and print the verdict", Args: cobra.ExactArgs(2),
		Long: "Requests one transition. An event that would skip an effect which is still due, such as a\n" +
			"shipment that is not booked yet, is refused; see --force. With --id the transition has that id;\n" +
			"otherwise the next id is assigned to --request-id, and a repeat with the same --request-id gets\n" +
			"the same answer. With --queue the request is sent to the requests' queue, and a worker applies\n" +
			"it. The reason is kept with the transition and is no part of the request: a repeat may have\n" +
			"another one. With --at the request is judged and applied at that time, and not before;\n" +
			"`ratchet orders scheduled` lists, moves and withdraws what waits.",
		Example: "  ratchet orders apply o-1 cancel --request-id r-17 --reason fraud --reason-text 'address does not exist'\n" +
			"  ratchet orders apply o-1 cancel --request-id r-18 --at 2027-01-01T00:00:00Z",
	}
	cause := arguments.ReasonFlags(c)
	checkSkipped := forceFlag(c, cause)
	id := c.Flags().Int64("id", 0, "transitionId, from 1")
	request := c.Flags().String("request-id", "", "name of this request; default: a new name for each call")
	from := c.Flags().String("from", "", "only from this state")
	values := c.Flags().StringToString("value", nil, "NAME=VALUE for a guard of the event; whole numbers, true and false are passed with their type")
	own := ownFlags(c)
	at := c.Flags().String("at", "", "apply it at this time, like 2026-12-24T18:00:00Z, at most a year ahead; default: now")
	queue := c.Flags().Bool("queue", false, "send it to the requests' queue and print the message's id")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := arguments.Given(c.Flags(), "request-id", "from", "at"); err != nil {
			return err
		}

		// A request id of the form that executions use could answer for a step of the order.
		if transitions.RequestID(*request).IsReserved() {
			return exit.UsageError("request-id %s: must not be one of those that executions use", *request)
		}

		// 0 means "assign one", so an explicit 0 is a mistake.
		if c.Flags().Changed("id") && *id == 0 {
			return exit.UsageError("id 0: ids count from 1")
		}

		r := transitions.Request{
			OrderID:      transitions.OrderID(args[0]),
			Event:        workflow.Event(args[1]),
			From:         workflow.State(*from),
			TransitionID: transitions.TransitionID(*id),
			RequestID:    transitions.RequestID(*request),
			Cause:        cause(),
		}

		// The values of a guard have types; a shell has only text.
		for name, text := range *values {
			if name == "" {
				return exit.UsageError("value %q: must be NAME=VALUE", "="+text)
			}

			if r.Values == nil {
				r.Values = map[string]any{}
			}
			r.Values[name] = guardValue(text)
		}

		var err error
		if r.Own, err = own(); err != nil {
			return err
		}

		// Without a name, a call that is repeated after a lost answer would be a second request.
		if (r.TransitionID == 0 || *at != "") && r.RequestID == "" {
			r.RequestID = transitions.RequestID("cli-" + arguments.NewRequestID())
		}

		if err := r.Validate(); err != nil {
			return err
		}

		when, err := arguments.Fixed("at", *at)
		if err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			// Before the queue: its workers would give up on the message.
			if err := r.Own.Validate(b.Orders.Mapping()); err != nil {
				return err
			}

			// What is due at a later time is not known now.
			if !when.IsZero() && !*queue {
				return scheduleRequest(c.Context(), c.OutOrStdout(), b, r, when, s.JSON)
			}

			if when.IsZero() {
				if err := checkSkipped(c.Context(), b, r.OrderID, r.Event, r.MadeBy); err != nil {
					return err
				}
			}

			if *queue {
				return sendRequest(c.Context(), c.OutOrStdout(), b, r, when, s.JSON)
			}

			result, err := b.Orders.Apply(c.Context(), r)
			if err != nil {
				return err
			}

			// A typo in a name is pointed out in addition to the refusal.
			if result.Verdict == transitions.Illegal || result.Verdict == transitions.WrongState {
				views.PrintUnknownNames(c.ErrOrStderr(), b.Orders.Definition(), r)
			}

			return views.PrintResult(c.OutOrStdout(), s.JSON, r.OrderID, result)
		})
	}

	return s.Takes(c, settings.QueueFlags)
}

// sendRequest sends the request to the queue and prints the message's id.
func sendRequest(ctx context.Context, out io.Writer, b *server.Backend, r transitions.Request, at time.Time, asJSON bool) error {
	id, err := b.RequestAt(ctx, r, at)
	if err != nil {
		return err
	}

	if asJSON {
		return terminal.PrintJSON(out, map[string]any{"messageId": id, "requestId": r.RequestID})
	}
	_, err = fmt.Fprintf(out, "sent: message %s\n", id)

	return err
}

// guardValue parses a value for a guard: a whole number, a boolean or a text.
func guardValue(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}

	if text == "true" || text == "false" {
		return text == "true"
	}

	return text
}
