package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/activities/tasktoken"
	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (s *service) parkedRoutes(h huma.API) {
	register(s, h, route{
		id:          "list-parked-tasks",
		method:      http.MethodGet,
		path:        "/v1/orders/{orderId}/parked-tasks",
		tag:         "parked tasks",
		scope:       auth.Read,
		status:      http.StatusOK,
		summary:     "List the states that the order's executions wait for",
		description: "Task tokens are never shown: who has one can end the task.",
	}, s.listParked)

	register(s, h, route{
		id:      "list-all-parked-tasks",
		method:  http.MethodGet,
		path:    "/v1/parked-tasks",
		tag:     "parked tasks",
		scope:   auth.Admin,
		status:  http.StatusOK,
		summary: "List the tasks that executions wait in, of all orders",
		description: "It scans the table of parked tasks, and reads each order if only overdue tasks are wanted. " +
			"A page may be shorter than the limit, even empty, and have a next one. Task tokens are never shown.",
	}, s.listAllParked)

	// For administrators: an answer decides how an execution goes on.
	answer := func(id, method, path, summary, description string) route {
		return adminVerb("parked tasks", id, method, "/v1/orders/{orderId}/parked-tasks/{state}"+path, summary, description, "orderId", "state")
	}
	register(s, h, answer("fail-parked-task", http.MethodDelete, "", "Give up a parked task",
		"The execution continues with its Catch for Order.Abandoned, or fails. If the task has already ended, only its record is deleted."), s.abandonParked)

	complete := answer("complete-parked-task", http.MethodPost, "/complete", "Complete a parked task: its execution goes on",
		"The order itself is not moved, so complete a task only if its order has come to the awaited state. A task that has ended before is answered with task_ended (409), and its record is deleted.").mayConflict().withBody()
	complete.anyJSON = "/output"
	register(s, h, complete, s.completeParked)
	register(s, h, answer("fail-parked-task-with-error", http.MethodPost, "/fail", "Fail a parked task with an error of your choice",
		"The execution continues with its Catch for the error, or fails. Order.WrongState with the default cause makes it go on from where the order is. A task that has ended before is answered with task_ended (409), and its record is deleted.").mayConflict().withBody(), s.failParked)
}

// parkedTask is a parked task. It has no field for the task token, which is a secret.
type parkedTask struct {
	Awaited string `json:"awaited" doc:"The state that the task waits for."`
	Since   int64  `json:"since" doc:"The newest transition that the execution knew when it began to wait."`
	State   string `json:"state,omitempty" doc:"The order's state. Only in a list of overdue tasks."`
}

func shownTask(t tasktoken.Task) parkedTask { return parkedTask{Awaited: t.Awaited, Since: t.Since} }

// orderTask is a parked task with its order.
type orderTask struct {
	OrderID string `json:"orderId"`
	Awaited string `json:"awaited" doc:"The state that the task waits for."`
	Since   int64  `json:"since" doc:"The newest transition that the execution knew when it began to wait."`
	State   string `json:"state,omitempty" doc:"The order's state. Only in a list of overdue tasks, and absent if the order cannot be read."`
}

type listAllParkedInput struct {
	Overdue bool `query:"overdue" doc:"Only tasks whose order has come to the awaited state, or can no longer come to it."`
	input.Page
}

type listAllParkedOutput struct {
	Body struct {
		Tasks []orderTask `json:"tasks"`
		Next  string      `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listAllParked(ctx context.Context, c caller, in *listAllParkedInput) (*listAllParkedOutput, error) {
	binding := []string{"parked-tasks", string(c.tenant), strconv.FormatBool(in.Overdue)}
	read := func(after string, n int) ([]tasktoken.Task, string, error) {
		tasks, err := s.cfg.Parked.List(ctx, after, n)
		// A short read is the last one.
		if err != nil || len(tasks) < n {
			return tasks, "", err
		}

		return tasks, tasks[n-1].OrderID, nil
	}
	show := func(t tasktoken.Task) (orderTask, bool, error) {
		id, own := c.tenant.ownID(string(transitions.OrderOfLife(t.OrderID)))
		shown := orderTask{OrderID: id, Awaited: t.Awaited, Since: t.Since}

		if !own || !in.Overdue {
			return shown, own, nil
		}

		// This costs one read for each task, so it is done only if the caller asks for it.
		order, found, err := s.cfg.Orders.Get(ctx, c.tenant.orderID(id))
		// A person has to look at an order that cannot be read, and its task waits.
		if errors.Is(err, transitions.ErrUnreadable) {
			return shown, true, nil
		}

		// A task of a former life of the order ends by its own deadline.
		if err != nil || !found || order.LifeID() != t.OrderID {
			return shown, false, err
		}
		shown.State = string(order.State)

		return shown, s.isOverdue(order, t), nil
	}

	out := &listAllParkedOutput{}
	var err error
	out.Body.Tasks, out.Body.Next, err = listPage(s, in.Page, binding, read, show)

	return out, err
}

// isOverdue reports whether the order has come to the state that the task waits for, or can no
// longer come to it.
func (s *service) isOverdue(order *transitions.Order, t tasktoken.Task) bool {
	return inspect.EndsWait(s.cfg.Orders, order, workflow.State(t.Awaited), transitions.TransitionID(t.Since))
}

type listParkedInput struct {
	input.Order
	Overdue bool `query:"overdue" doc:"Only tasks whose order has come to the awaited state, or can no longer come to it."`
}

type listParkedOutput struct {
	Body struct {
		Tasks []parkedTask `json:"tasks"`
	}
}

func (s *service) listParked(ctx context.Context, c caller, in *listParkedInput) (*listParkedOutput, error) {
	out := &listParkedOutput{}
	out.Body.Tasks = []parkedTask{} // not nil: a list is never null in JSON

	// A task waits for one life of the order. Without its order it is not found, and ends by its own
	// deadline.
	order, found, err := s.cfg.Orders.Get(ctx, c.tenant.orderID(in.OrderID))
	if err != nil || !found {
		return out, err
	}

	tasks, err := s.cfg.Parked.Waiting(ctx, order.LifeID())
	if err != nil {
		return nil, err
	}

	if !in.Overdue {
		for _, t := range tasks {
			out.Body.Tasks = append(out.Body.Tasks, shownTask(t))
		}

		return out, nil
	}

	for _, t := range tasks {
		if s.isOverdue(order, t) {
			shown := shownTask(t)
			shown.State = string(order.State)
			out.Body.Tasks = append(out.Body.Tasks, shown)
		}
	}

	return out, nil
}

// parkedTask returns the order's task that waits for the state. It fails with
// parked_task_not_found.
func (s *service) parkedTask(ctx context.Context, c caller, order, state string) (tasktoken.Task, error) {
	o, found, err := s.cfg.Orders.Get(ctx, c.tenant.orderID(order))
	if err != nil || !found {
		return tasktoken.Task{}, cmp.Or(err, error(notFound("parked_task")))
	}

	tasks, err := s.cfg.Parked.Waiting(ctx, o.LifeID())
	if err != nil {
		return tasktoken.Task{}, err
	}

	for _, t := range tasks {
		if t.Awaited == state {
			return t, nil
		}
	}

	return tasktoken.Task{}, notFound("parked_task")
}
