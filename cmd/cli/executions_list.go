package cli

import (
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
)

func executionsList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List executions, newest first", Args: cobra.NoArgs}
	status := c.Flags().String("status", "", "RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED")
	limit := limitFlag(c.Flags(), 100, 1_000, "at most this many")
	c.RunE = func(c *cobra.Command, _ []string) error {
		filter := types.ExecutionStatus(strings.ToUpper(*status))
		// The service would answer an unknown status with a validation error that names no flag.
		if filter != "" && !slices.Contains(filter.Values(), filter) {
			return usageError("status %q: must be RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED", *status)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			arn, err := b.StateMachineARN(c.Context())
			if err != nil {
				return err
			}

			out, err := b.SFN.ListExecutions(c.Context(), &sfn.ListExecutionsInput{
				StateMachineArn: &arn,
				StatusFilter:    filter,
				MaxResults:      int32(*limit),
			})
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
		row := map[string]string{
			"name":         aws.ToString(e.Name),
			"status":       string(e.Status),
			"executionArn": aws.ToString(e.ExecutionArn),
			"startDate":    stamp(*e.StartDate),
		}
		stopped := ""
		// A running execution has no end.
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
