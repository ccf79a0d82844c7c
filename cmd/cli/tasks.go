package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/activities/tasktoken"
	"ratchet/server"
)

const tasksHelp = `Tasks of executions that wait for a state of their order. The orders' stream answers them when
the state has come, or can no longer come.

Task tokens are never shown: a token is the right to end the task.`

func tasksCommand(s *settings) *cobra.Command {
	c := group("tasks", "List tasks that wait for a state of their order, complete and fail them",
		tasksList(s), tasksComplete(s), tasksFail(s))
	c.Aliases, c.Long = []string{"parked"}, tasksHelp

	return c
}

// printedTask is a parked task as it is printed. The token is a secret and has no field.
type printedTask struct {
	Order   string `json:"orderId"`
	Awaited string `json:"awaited"`
	Since   int64  `json:"since"`
	// State is the order's state, of overdue tasks only.
	State string `json:"state,omitempty"`
}

// cursor returns the text that `tasks list --after` takes.
func cursor(t tasktoken.Task) string { return t.OrderID + "," + t.Row() }

// waitingTask returns the task of the order that waits for the state, or the only one.
func waitingTask(ctx context.Context, b *server.Backend, order, state string) (tasktoken.Task, error) {
	tasks, err := b.ParkedTasks.Waiting(ctx, order)
	if err != nil {
		return tasktoken.Task{}, err
	}

	var awaited []string
	for _, t := range tasks {
		// Without --state, a single task is meant.
		if t.Awaited == state || state == "" && len(tasks) == 1 {
			return t, nil
		}
		awaited = append(awaited, t.Awaited)
	}

	switch {
	case len(tasks) == 0:
		return tasktoken.Task{}, fmt.Errorf("%w: no task waits for order %s", errNotFound, order)
	case state == "":
		// An answer to the wrong task cannot be taken back.
		return tasktoken.Task{}, usageError("order %s has several tasks: use --state with one of %s", order, strings.Join(awaited, ", "))
	}

	return tasktoken.Task{}, fmt.Errorf("%w: no task waits for order %s to be %s, but for %s", errNotFound, order, state, strings.Join(awaited, ", "))
}
