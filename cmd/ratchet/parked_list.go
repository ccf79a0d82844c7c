package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/tasktoken"
)

// printedParkedTask is a parked task as it is printed. The token is a secret and has no
// field.
type printedParkedTask struct {
	Order   string `json:"orderId"`
	Awaited string `json:"awaited"`
	Since   int64  `json:"since"`
}

func parkedList(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list [ORDER]", Short: "List parked tasks, of one order or of all", Args: cobra.MaximumNArgs(1),
		Long: "Lists the states that executions wait for, and since which transition. Task tokens are never\n" +
			"shown, because a token is the right to end the task. Without ORDER it lists all tasks from\n" +
			"--after on.",
	}
	limit := c.Flags().Int("limit", 100, "at most this many, 1 to 10000; with ORDER all are listed")
	after := c.Flags().StringSlice("after", nil, "continue after this task: ORDER,STATE")
	c.RunE = func(c *cobra.Command, args []string) error {
		var last tasktoken.Task
		switch {
		case *limit < 1 || *limit > 10_000:
			return usageError("limit %d: 1 to 10000", *limit)
		case len(*after) == 2:
			last = tasktoken.Task{OrderID: (*after)[0], Awaited: (*after)[1]}
		case *after != nil:
			return usageError("after: must be ORDER,STATE")
		}

		return s.with(c.Context(), func(b *server.Backend) (err error) {
			var tasks []tasktoken.Task
			if len(args) == 1 {
				tasks, err = b.ParkedTasks.Waiting(c.Context(), args[0])
			} else {
				tasks, err = b.ParkedTasks.List(c.Context(), last, *limit)
			}

			if err != nil {
				return err
			}

			next := ""
			if len(args) == 0 && len(tasks) == *limit {
				next = tasks[*limit-1].OrderID + "," + tasks[*limit-1].Awaited
			}

			return printMore(c.ErrOrStderr(), next, printParked(c.OutOrStdout(), s.json, tasks))
		})
	}

	return c
}

func printParked(out io.Writer, asJSON bool, tasks []tasktoken.Task) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "ORDER\tAWAITED\tSINCE")
	}

	for _, t := range tasks {
		if asJSON {
			if err := printJSON(out, printedParkedTask{t.OrderID, t.Awaited, t.Since}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\n", t.OrderID, t.Awaited, t.Since)
	}

	return w.Flush()
}
