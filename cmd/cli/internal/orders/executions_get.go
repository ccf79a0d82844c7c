package orders

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/executions"
	"ratchet/server"
	"ratchet/transitions"
)

func executionsGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get ORDER", SuggestFor: []string{"describe"}, Short: "Show an order's execution and its history", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				// The current execution may be a successor, with another name than the order's.
				current, found, err := b.Executions.Current(c.Context(), transitions.OrderID(args[0]))
				if err != nil {
					return err
				}

				if !found {
					return fmt.Errorf("execution of order %s: %w", args[0], exit.ErrNotFound)
				}

				var events []executions.Event
				for page := (executions.HistoryPage{Limit: 1000}); ; {
					found, next, err := b.Executions.History(c.Context(), current.ARN, page)
					if err != nil {
						return err
					}
					events = append(events, found...)

					if next == "" {
						break
					}
					page.After = next
				}

				return printExecution(c.OutOrStdout(), s.JSON, current, events)
			})
		},
	}
}

func printExecution(out io.Writer, asJSON bool, x executions.Execution, events []executions.Event) error {
	if asJSON {
		// A line shows what a person looks for.
		type line struct {
			ID    int64  `json:"id"`
			Type  string `json:"type"`
			State string `json:"state,omitempty"`
			At    string `json:"at"`
		}
		lines := make([]line, len(events))
		for i, ev := range events {
			lines[i] = line{ev.ID, ev.Type, cmp.Or(ev.State, ev.Error), terminal.Stamp(ev.At)}
		}

		return terminal.PrintJSON(out, map[string]any{
			"name":   x.Name,
			"status": x.Status,
			"input":  raw(x.Input),
			"output": raw(x.Output),
			"error":  x.Error,
			"cause":  x.Cause,
			"events": lines,
		})
	}
	fmt.Fprintf(out, "%s  %s\n", x.Name, x.Status)

	if x.Error != "" {
		fmt.Fprintf(out, "error %s: %s\n", x.Error, x.Cause)
	}

	for _, ev := range events {
		fmt.Fprintf(out, "%4d  %s  %-22s %s\n", ev.ID, ev.At.Local().Format("15:04:05.000"), ev.Type, cmp.Or(ev.State, ev.Error))
	}

	return nil
}

// raw returns the text as JSON, or null if it is not JSON.
func raw(s string) json.RawMessage {
	// One text that is no JSON would make the whole line invalid.
	if !json.Valid([]byte(s)) {
		return json.RawMessage("null")
	}
	return json.RawMessage(s)
}
