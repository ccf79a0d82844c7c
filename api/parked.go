package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/tasktoken"
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
		id:          "fail-parked-task",
		method:      http.MethodDelete,
		path:        "/v1/orders/{orderId}/parked-tasks/{state}",
		tag:         "parked tasks",
		scope:       auth.Admin,
		mutates:     true,
		repeats:     ifKeyed,
		auditParams: []string{"orderId", "state"},
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Fail a parked task",
		description: "The execution continues with its Catch for Order.Abandoned, or fails. If the task has already ended, only its record is deleted. Each request is a new one, unless it repeats one with the same Idempotency-Key.",
	}, s.failParked)
}

// parkedTask is a parked task. It has no field for the task token, which is a secret.
type parkedTask struct {
	Awaited string `json:"awaited" doc:"The state that the task waits for."`
	Since   int64  `json:"since" doc:"The newest transition that the execution knew when it began to wait."`
}

type listParkedOutput struct {
	Body struct {
		Tasks []parkedTask `json:"tasks"`
	}
}

func (s *service) listParked(ctx context.Context, c caller, in *input.Order) (*listParkedOutput, error) {
	tasks, err := s.cfg.Parked.Waiting(ctx, c.tenant.storedID(in.OrderID))
	if err != nil {
		return nil, err
	}

	out := &listParkedOutput{}
	out.Body.Tasks = make([]parkedTask, len(tasks))
	for i, t := range tasks {
		out.Body.Tasks[i] = parkedTask{t.Awaited, t.Since}
	}

	return out, nil
}

type failParkedInput struct {
	input.Order
	input.MayBeKeyed
	State string `path:"state" minLength:"1" maxLength:"64" pattern:"^[A-Z_]+$" example:"SHIPPED"`
}

type failParkedOutput struct {
	input.Repeat
	Body parkedTask
}

// abandoned is the error name of a task that an operator failed.
const abandoned = "Order.Abandoned"

func (s *service) failParked(ctx context.Context, c caller, in *failParkedInput) (*failParkedOutput, error) {
	tasks, err := s.cfg.Parked.Waiting(ctx, c.tenant.storedID(in.OrderID))
	if err != nil {
		return nil, err
	}

	for _, t := range tasks {
		if t.Awaited == in.State {
			return &failParkedOutput{Body: parkedTask{t.Awaited, t.Since}}, s.abandon(ctx, c, t)
		}
	}

	return nil, notFound("parked_task")
}

func (s *service) abandon(ctx context.Context, c caller, t tasktoken.Task) error {
	_, err := s.cfg.SFN.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{
		TaskToken: aws.String(string(t.Token)),
		Error:     aws.String(abandoned),
		Cause:     aws.String("given up by " + c.ID),
	})

	// These errors say that the task has ended. Only the record is left to delete.
	var unknown *sfntypes.TaskDoesNotExist
	var timedOut *sfntypes.TaskTimedOut
	var invalid *sfntypes.InvalidToken
	if err != nil && !errors.As(err, &unknown) && !errors.As(err, &timedOut) && !errors.As(err, &invalid) {
		return err
	}

	return s.cfg.Parked.Remove(ctx, t)
}
