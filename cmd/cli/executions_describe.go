package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/transitions"
)

func executionsDescribe(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "describe ORDER", Short: "Show an order's execution and its history", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				// The current execution may be a successor, with another name than the order's.
				current, found, err := b.Executions.Current(c.Context(), transitions.OrderID(args[0]))
				if err != nil {
					return err
				}

				if !found {
					return fmt.Errorf("execution of order %s: %w", args[0], errNotFound)
				}

				arn := current.ARN

				e, err := b.SFN.DescribeExecution(c.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
				if err != nil {
					return fmt.Errorf("describe execution: %w", err)
				}

				var events []types.HistoryEvent
				pages := sfn.NewGetExecutionHistoryPaginator(b.SFN, &sfn.GetExecutionHistoryInput{ExecutionArn: &arn})
				for pages.HasMorePages() {
					page, err := pages.NextPage(c.Context())
					if err != nil {
						return fmt.Errorf("execution history: %w", err)
					}
					events = append(events, page.Events...)
				}

				return printExecution(c.OutOrStdout(), s.json, e, events)
			})
		},
	}
}

func printExecution(out io.Writer, asJSON bool, e *sfn.DescribeExecutionOutput, events []types.HistoryEvent) error {
	if asJSON {
		// The history's own fields are nested and large; a line shows what a person looks for.
		type line struct {
			ID    int64  `json:"id"`
			Type  string `json:"type"`
			State string `json:"state,omitempty"`
			At    string `json:"at"`
		}
		lines := make([]line, len(events))
		for i, ev := range events {
			lines[i] = line{ev.Id, string(ev.Type), stateOf(ev), stamp(*ev.Timestamp)}
		}

		return printJSON(out, map[string]any{
			"name":   aws.ToString(e.Name),
			"status": e.Status,
			"input":  raw(e.Input),
			"output": raw(e.Output),
			"error":  aws.ToString(e.Error),
			"cause":  aws.ToString(e.Cause),
			"events": lines,
		})
	}
	fmt.Fprintf(out, "%s  %s\n", aws.ToString(e.Name), e.Status)

	if e.Error != nil {
		fmt.Fprintf(out, "error %s: %s\n", aws.ToString(e.Error), aws.ToString(e.Cause))
	}

	for _, ev := range events {
		fmt.Fprintf(out, "%4d  %s  %-22s %s\n", ev.Id, ev.Timestamp.Local().Format("15:04:05.000"), ev.Type, stateOf(ev))
	}

	return nil
}

// raw returns the text as JSON, or null if it is not JSON.
func raw(s *string) json.RawMessage {
	// One text that is no JSON would make the whole line invalid.
	if s == nil || !json.Valid([]byte(*s)) {
		return json.RawMessage("null")
	}
	return json.RawMessage(*s)
}

// stateOf returns the state of a history event, or the error of a failed activity.
func stateOf(e types.HistoryEvent) string {
	switch {
	case e.StateEnteredEventDetails != nil:
		return aws.ToString(e.StateEnteredEventDetails.Name)
	case e.StateExitedEventDetails != nil:
		return aws.ToString(e.StateExitedEventDetails.Name)
	case e.ActivityFailedEventDetails != nil:
		return aws.ToString(e.ActivityFailedEventDetails.Error)
	}

	return ""
}
