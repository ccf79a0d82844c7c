package orders

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/transitions"
)

func tasksComplete(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "complete ORDER", Short: "Complete a waiting task: its execution goes on", Args: cobra.ExactArgs(1),
		Long: "Completes the task with the order's position as its output, as the stream's worker does, or with\n" +
			"--output. The execution goes on from there, so complete a task only if its order has come to the\n" +
			"awaited state (`ratchet tasks list ORDER --overdue`). The order itself is not moved.",
		Example: "  ratchet tasks complete o-1",
	}
	state := c.Flags().String("state", "", "only if the task waits for this state")
	output := c.Flags().String("output", "", "the task's output, JSON; default: where the order is")
	c.RunE = func(c *cobra.Command, args []string) error {
		// Step Functions would refuse the output after the token was found.
		if *output != "" && !json.Valid([]byte(*output)) {
			return exit.UsageError("output: must be JSON")
		}

		return answerTask(c, s, args[0], *state, func(ctx context.Context, b *server.Backend, t tasktoken.Task) (activities.Outcome, error) {
			result, err := orPosition(ctx, b, t.OrderID, *output)
			if err != nil {
				return activities.Unanswered, err
			}

			// The same output as the stream's worker sends, so the execution goes on in the same
			// way.
			return b.Completer.Succeed(ctx, activities.Token(t.Token), json.RawMessage(result))
		})
	}

	return c
}

func tasksFail(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "fail ORDER", Short: "Fail a waiting task: its execution catches the error, or fails", Args: cobra.ExactArgs(1),
		Long: "Fails the task. The execution goes on with its Catch for the error. Without one it fails, and can be\n" +
			"redriven (`ratchet executions redrive`): it then waits again. Order.WrongState makes the execution\n" +
			"go on from where its order is; the cause must be the order's position, which is the default.",
		Example: "  ratchet tasks fail o-1 --error Order.WrongState\n  ratchet tasks fail o-1 --cause 'the customer called'",
	}
	state := c.Flags().String("state", "", "only if the task waits for this state")
	name := c.Flags().String("error", "Order.Abandoned", "the error's name")
	cause := c.Flags().String("cause", "", "the error's cause; default: where the order is, as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *name == "" {
			return exit.UsageError("error: must not be empty")
		}

		return answerTask(c, s, args[0], *state, func(ctx context.Context, b *server.Backend, t tasktoken.Task) (activities.Outcome, error) {
			text, err := orPosition(ctx, b, t.OrderID, *cause)
			if err != nil {
				return activities.Unanswered, err
			}

			return b.Completer.Fail(ctx, activities.Token(t.Token), &activities.Error{Name: *name, Cause: text})
		})
	}

	return c
}

// orPosition returns the text, or where the order of this life is, as JSON, if the text is empty.
func orPosition(ctx context.Context, b *server.Backend, life, text string) (string, error) {
	if text != "" {
		return text, nil
	}

	order, found, err := b.Orders.Get(ctx, transitions.OrderOfLife(life))
	if err == nil && !found {
		err = fmt.Errorf("%w: order %s", exit.ErrNotFound, transitions.OrderOfLife(life))
	}

	if err != nil {
		return "", err
	}

	position, err := json.Marshal(order.Position())

	return string(position), err
}

// answerTask answers the task of the order and removes its token.
func answerTask(c *cobra.Command, s *settings.Settings, order, state string,
	answer func(context.Context, *server.Backend, tasktoken.Task) (activities.Outcome, error),
) error {
	return s.With(c.Context(), func(b *server.Backend) error {
		task, err := waitingTask(c.Context(), b, order, state)
		if err != nil {
			return err
		}

		outcome, err := answer(c.Context(), b, task)
		// The task has ended, or may have: nothing can be answered under its token any more.
		over := outcome == activities.Lost || outcome == activities.Unknown

		if err != nil && !over {
			return err
		}

		// The token is removed after such an end, too: the task would otherwise stay listed as
		// overdue.
		if err := b.ParkedTasks.Remove(c.Context(), task); err != nil {
			return err
		}

		if s.JSON {
			err = terminal.PrintJSON(c.OutOrStdout(), map[string]any{"orderId": order, "awaited": task.Awaited, "outcome": outcome})
		} else {
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: the task of order %s that waited for %s\n", outcome, order, task.Awaited)
		}

		if err == nil && over {
			return exit.With(exit.Refused, nil)
		}

		return err
	})
}
