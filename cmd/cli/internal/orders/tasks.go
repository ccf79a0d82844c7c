package orders

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/activities/tasktoken"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
	"ratchet/transitions"
)

const tasksHelp = `Tasks of executions that wait for a state of their order. The orders' stream answers them when
the state has come, or can no longer come.

Task tokens are never shown: a token is the right to end the task.`

func tasksCommand(s *settings.Settings) *cobra.Command {
	c := settings.Group("tasks", "List tasks that wait for a state of their order, complete and fail them",
		tasksList(s), tasksComplete(s), tasksFail(s))
	c.Long = tasksHelp

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

// tasksOf returns the tasks that wait for the order as it is now, none if it does not exist.
func tasksOf(ctx context.Context, b *server.Backend, id string) ([]tasktoken.Task, error) {
	order, found, err := b.Orders.Get(ctx, transitions.OrderID(id))
	if err != nil || !found {
		return nil, err
	}

	return b.ParkedTasks.Waiting(ctx, order.LifeID())
}

// waitingTask returns the task that waits for the order. With a state, the task must wait for it.
func waitingTask(ctx context.Context, b *server.Backend, order, state string) (tasktoken.Task, error) {
	tasks, err := tasksOf(ctx, b, order)

	switch {
	case err != nil:
		return tasktoken.Task{}, err
	case len(tasks) == 0:
		return tasktoken.Task{}, fmt.Errorf("%w: no task waits for order %s", exit.ErrNotFound, order)
	case state != "" && tasks[0].Awaited != state:
		return tasktoken.Task{}, fmt.Errorf("%w: no task waits for order %s to be %s, but for %s", exit.ErrNotFound, order, state, tasks[0].Awaited)
	}

	return tasks[0], nil
}
