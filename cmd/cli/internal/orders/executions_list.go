package orders

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/executions"
	"ratchet/server"
)

func executionsList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List executions, newest first", Args: cobra.NoArgs}
	status := c.Flags().String("status", "", "RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED")
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "at most this many")
	c.RunE = func(c *cobra.Command, _ []string) error {
		filter := types.ExecutionStatus(strings.ToUpper(*status))
		// The service would answer an unknown status with a validation error that names no flag.
		if filter != "" && !slices.Contains(filter.Values(), filter) {
			return exit.UsageError("status %q: must be RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED", *status)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			page, _, err := b.Executions.List(c.Context(), filter, "", *limit)
			if err != nil {
				return err
			}

			return printExecutions(c.OutOrStdout(), s.JSON, page)
		})
	}

	return c
}

func printExecutions(out io.Writer, asJSON bool, page []executions.Listed) error {
	if asJSON {
		for _, x := range page {
			if err := terminal.PrintJSON(out, x); err != nil {
				return err
			}
		}

		return nil
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EXECUTION\tSTATUS\tSTARTED\tSTOPPED")

	for _, x := range page {
		stopped := ""
		// A running execution has no end.
		if !x.StoppedAt.IsZero() {
			stopped = terminal.Stamp(x.StoppedAt)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", x.Name, x.Status, terminal.Stamp(x.StartedAt), stopped)
	}

	return w.Flush()
}
