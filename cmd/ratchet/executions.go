package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/transitions"
)

func executionsCommand(s *settings) *cobra.Command {
	return group("executions", "Start and look at the orders' executions",
		executionsStart(s), executionsList(s), executionsDescribe(s))
}

func executionsStart(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "start ORDER", Short: "Start the execution of an order that exists", Args: cobra.ExactArgs(1),
		Long: "Starts the execution that drives the order. The execution is named after the order, so\n" +
			"repeating the command finds the same one.",
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				order, err := getOrder(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				arn, err := b.StateMachineARN(c.Context())
				if err != nil {
					return err
				}

				execution, err := b.Start(c.Context(), arn, transitions.NewOrder{ID: order.ID, Items: order.Items, Total: order.Total})
				if err != nil {
					return err
				}

				if s.json {
					return printJSON(c.OutOrStdout(), map[string]string{"executionArn": execution})
				}
				fmt.Fprintln(c.OutOrStdout(), execution)

				return nil
			})
		},
	}
}

func executionsList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List executions, newest first", Args: cobra.NoArgs}
	status := c.Flags().String("status", "", "RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED")
	limit := c.Flags().Int32("limit", 100, "at most this many, 1 to 1000")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *limit < 1 || *limit > 1000 {
			return usageError("limit %d: 1 to 1000", *limit)
		}

		filter := types.ExecutionStatus(strings.ToUpper(*status))
		if filter != "" && !slices.Contains(filter.Values(), filter) {
			return usageError("status %q: must be RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED", *status)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			arn, err := b.StateMachineARN(c.Context())
			if err != nil {
				return err
			}

			out, err := b.SFN.ListExecutions(c.Context(), &sfn.ListExecutionsInput{StateMachineArn: &arn, StatusFilter: filter, MaxResults: *limit})
			if err != nil {
				return fmt.Errorf("list executions: %w", err)
			}

			return printExecutions(c.OutOrStdout(), s.json, out.Executions)
		})
	}

	return c
}

func printExecutions(out io.Writer, asJSON bool, executions []types.ExecutionListItem) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "EXECUTION\tSTATUS\tSTARTED\tSTOPPED")
	}

	for _, e := range executions {
		row := map[string]string{"name": aws.ToString(e.Name), "status": string(e.Status), "executionArn": aws.ToString(e.ExecutionArn), "startDate": stamp(*e.StartDate)}
		stopped := ""
		if e.StopDate != nil {
			stopped = stamp(*e.StopDate)
			row["stopDate"] = stopped
		}

		if asJSON {
			if err := printJSON(out, row); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row["name"], row["status"], row["startDate"], stopped)
	}

	return w.Flush()
}

func executionsDescribe(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "describe ORDER", Short: "Show an order's execution and its history", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				arn, err := b.ExecutionARN(c.Context(), transitions.OrderID(args[0]))
				if err != nil {
					return err
				}

				e, err := b.SFN.DescribeExecution(c.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
				var missing *types.ExecutionDoesNotExist
				if errors.As(err, &missing) {
					return fmt.Errorf("execution of order %s: %w", args[0], errNotFound)
				}

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

		return printJSON(out, map[string]any{"name": aws.ToString(e.Name), "status": e.Status, "input": raw(e.Input), "output": raw(e.Output),
			"error": aws.ToString(e.Error), "cause": aws.ToString(e.Cause), "events": lines})
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

// raw passes JSON through, and null for none.
func raw(s *string) json.RawMessage {
	if s == nil || !json.Valid([]byte(*s)) {
		return json.RawMessage("null")
	}
	return json.RawMessage(*s)
}

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
