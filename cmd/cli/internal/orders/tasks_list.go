package orders

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/activities/tasktoken"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

const tasksListHelp = `Lists the states that executions wait for, and since which transition. Without ORDER it lists the
tasks of all orders from --after on. It scans the table of parked tasks: a read unit for 4 KB of
it, which is about four orders of the last 400 days.

With --overdue it lists the tasks whose order has come to the awaited state, or can no longer come
to it, while the task still waits. That is normal for the moment until the stream's worker has
answered. If it lasts, no worker reads the stream, or the handler "parked" has dead letters. A task
that is not answered ends at the deadline of its state. This reads each order as well: one more
read unit for each waiting task.`

func tasksList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list [ORDER]", Short: "List waiting tasks, of one order or of all", Long: tasksListHelp, Args: cobra.MaximumNArgs(1),
		Example: "  ratchet tasks list o-1\n  ratchet tasks list --overdue --json",
	}
	limit := arguments.LimitFlag(c.Flags(), 100, 10_000, "at most this many, with ORDER all")
	after := c.Flags().String("after", "", "continue after this position, which the page before printed")
	overdue := c.Flags().Bool("overdue", false, "only tasks whose order has come to the awaited state, or cannot come to it")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := arguments.Given(c.Flags(), "after"); err != nil {
			return err
		}

		if len(args) == 1 && *after != "" {
			return exit.UsageError("after: an order has one task at most, so its list has no pages")
		}

		start, err := taskAfter(*after)
		if err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			ctx := c.Context()
			list := func(after string) ([]tasktoken.Task, error) { return b.ParkedTasks.List(ctx, after, *limit) }

			if len(args) == 1 {
				// An order has at most one task.
				list = func(string) ([]tasktoken.Task, error) { return tasksOf(ctx, b, args[0]) }
			}

			found, next, err := collectTasks(ctx, s, b, list, start, *limit, len(args) == 0, *overdue)
			if err != nil {
				return err
			}

			return terminal.PrintMore(c.ErrOrStderr(), next, printTasks(c.OutOrStdout(), s.JSON, *overdue, found))
		})
	}

	return s.Long(c, "reading tasks")
}

// collectTasks returns up to limit tasks, only overdue ones if that is wanted, and the cursor
// of the next page. The list has pages if paged is set.
func collectTasks(ctx context.Context, s *settings.Settings, b *server.Backend, list func(after string) ([]tasktoken.Task, error),
	after string, limit int, paged, overdue bool,
) (found []printedTask, next string, err error) {
	for read := 0; ; {
		page, err := list(after)
		if err != nil {
			return nil, "", err
		}

		for _, t := range page {
			shown := printedTask{Order: string(transitions.OrderOfLife(t.OrderID)), Awaited: t.Awaited, Since: t.Since}
			isOverdue := false

			// This is one more read per task, so it is made only if it was asked for.
			if overdue {
				if shown.State, isOverdue, err = overdueState(ctx, b, t); err != nil {
					return nil, "", err
				}
			}

			if !overdue || isOverdue {
				found = append(found, shown)
			}

			// The cursor is the last task that was looked at, not the end of its page.
			if paged && len(found) == limit {
				return found, taskPosition(t.OrderID), nil
			}
			after = t.OrderID
		}

		read += len(page)
		s.Progress.Print("%s read, %d found", plural.Of(read, "task"), len(found))

		// A page that is not full is the last one.
		if !paged || len(page) < limit {
			return found, "", nil
		}
	}
}

// taskPosition returns the position behind a task. A task is stored under the life of its order, which is
// no id of an order.
func taskPosition(life string) string { return base64.RawURLEncoding.EncodeToString([]byte(life)) }

// taskAfter is the inverse of taskPosition, "" for the beginning of the list.
func taskAfter(position string) (life string, err error) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(position)
	if id := transitions.OrderOfLife(string(text)); err != nil || position != "" && (string(id) == string(text) || id.Validate() != nil) {
		return "", exit.UsageError("after %.64q: must be a position that the page before printed", position)
	}

	return string(text), nil
}

// overdueState returns the order's state, and whether it ends the wait of the task.
func overdueState(ctx context.Context, b *server.Backend, t tasktoken.Task) (state string, overdue bool, err error) {
	order, exists, err := b.Orders.Get(ctx, transitions.OrderOfLife(t.OrderID))
	// A person has to look at an order that cannot be read, and its task waits.
	if errors.Is(err, transitions.ErrUnreadable) {
		return "unreadable", true, nil
	}

	// A task of an order that does not exist ends by its own deadline.
	if err != nil || !exists || order.LifeID() != t.OrderID {
		return "", false, err
	}

	overdue = inspect.EndsWait(b.Orders, order, workflow.State(t.Awaited), transitions.TransitionID(t.Since))

	return string(order.State), overdue, nil
}

func printTasks(out io.Writer, asJSON, withState bool, tasks []printedTask) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)

	switch {
	case asJSON:
	case withState:
		fmt.Fprintln(w, "ORDER\tAWAITED\tSINCE\tORDER IS")
	default:
		fmt.Fprintln(w, "ORDER\tAWAITED\tSINCE")
	}

	for _, t := range tasks {
		switch {
		case asJSON:
			if err := terminal.PrintJSON(out, t); err != nil {
				return err
			}
		case withState:
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", t.Order, t.Awaited, t.Since, t.State)
		default:
			fmt.Fprintf(w, "%s\t%s\t%d\n", t.Order, t.Awaited, t.Since)
		}
	}

	return w.Flush()
}
