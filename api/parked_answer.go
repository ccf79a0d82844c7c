package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/api/internal/input"
	"ratchet/transitions"
)

// completer has the methods of an *activities.Completer that this package calls.
type completer interface {
	Succeed(ctx context.Context, token activities.Token, output any) (activities.Outcome, error)
	Fail(ctx context.Context, token activities.Token, failure error) (activities.Outcome, error)
}

// abandoned is the error name of a task that an operator gave up.
const abandoned = "Order.Abandoned"

// reservedErrors begins the error names that only Step Functions gives.
const reservedErrors = "States."

type abandonParkedInput struct {
	input.Order
	input.MayBeKeyed
	input.Parked
}

type answerParkedOutput struct {
	input.Repeat
	Body parkedTask
}

// abandonParked fails a task. If the task has ended already, the request succeeds all the same:
// the caller only wants the task to be gone.
func (s *service) abandonParked(ctx context.Context, c caller, in *abandonParkedInput) (*answerParkedOutput, error) {
	task, err := s.parkedTask(ctx, c, in.OrderID, in.State)
	if err != nil {
		return nil, err
	}

	outcome, err := s.fail(ctx, task, abandoned, "given up by "+c.ID)
	if outcome == activities.Unanswered {
		return nil, err
	}

	return &answerParkedOutput{Body: shownTask(task)}, nil
}

type failParkedInput struct {
	input.Order
	input.MayBeKeyed
	input.Parked
	Body struct {
		Error string `json:"error,omitempty" minLength:"1" maxLength:"256" default:"Order.Abandoned" doc:"The name that the state machine's Catch matches. Names that begin with States. are reserved."`
		Cause string `json:"cause,omitempty" maxLength:"32768" doc:"Default: where the order is, as JSON."`
	}
}

func (s *service) failParked(ctx context.Context, c caller, in *failParkedInput) (*answerParkedOutput, error) {
	if strings.HasPrefix(in.Body.Error, reservedErrors) {
		return nil, newProblem(http.StatusUnprocessableEntity, "invalid_request", "The error's name is reserved.").
			withField("body", "/error", "must not begin with "+reservedErrors)
	}

	task, err := s.parkedTask(ctx, c, in.OrderID, in.State)
	if err != nil {
		return nil, err
	}

	// The default lets the state machine's Catch go on from where the order is.
	cause := in.Body.Cause
	if cause == "" {
		position, err := s.position(ctx, task)
		if err != nil {
			return nil, err
		}
		cause = string(position)
	}

	outcome, err := s.fail(ctx, task, in.Body.Error, cause)

	return answeredOutput(task, outcome, activities.Failed, err)
}

type completeParkedInput struct {
	input.Order
	input.MayBeKeyed
	input.Parked
	// Body is smaller than the output of a task may be (see maxBody).
	Body struct {
		Output json.RawMessage `json:"output,omitempty" doc:"The task's output, any JSON. Default: where the order is."`
	}
}

func (s *service) completeParked(ctx context.Context, c caller, in *completeParkedInput) (*answerParkedOutput, error) {
	task, err := s.parkedTask(ctx, c, in.OrderID, in.State)
	if err != nil {
		return nil, err
	}

	output := in.Body.Output
	if len(output) == 0 {
		if output, err = s.position(ctx, task); err != nil {
			return nil, err
		}
	}

	outcome, err := s.cfg.Completer.Succeed(ctx, activities.Token(task.Token), output)
	err = s.answered(ctx, task, outcome, err)

	return answeredOutput(task, outcome, activities.Succeeded, err)
}

// position returns where the task's order is, as JSON.
func (s *service) position(ctx context.Context, task tasktoken.Task) (json.RawMessage, error) {
	order, found, err := s.cfg.Orders.Get(ctx, transitions.OrderOfLife(task.OrderID))
	switch {
	case err != nil:
		return nil, err
	case !found, order.LifeID() != task.OrderID: // another life of the order has begun since
		return nil, notFound("parked_task")
	}

	return json.Marshal(order.Position())
}

func (s *service) fail(ctx context.Context, task tasktoken.Task, name, cause string) (activities.Outcome, error) {
	outcome, err := s.cfg.Completer.Fail(ctx, activities.Token(task.Token), &activities.Error{Name: name, Cause: cause})

	return outcome, s.answered(ctx, task, outcome, err)
}

// answered removes the token of a task that is over. If the removal fails, the next answer finds
// the task over and removes the token, so the removal does not decide the request. If Step
// Functions gave no answer, the error is a 503: the Completer has tried for its whole time.
func (s *service) answered(ctx context.Context, task tasktoken.Task, outcome activities.Outcome, err error) error {
	request := callOf(ctx).id

	if outcome == activities.Unanswered {
		// A refusal of the service may quote the token.
		reason := strings.ReplaceAll(err.Error(), string(task.Token), task.Token.String())
		s.cfg.Log.WarnContext(ctx, "a task is not answered", "request", request, "error", reason)

		return newProblem(http.StatusServiceUnavailable, "unavailable", detailUnavailable).retryAfter(1)
	}

	// The client may be gone, and the task is answered all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()

	if removed := s.cfg.Parked.Remove(ctx, task); removed != nil {
		s.cfg.Log.WarnContext(ctx, "the token of an answered task stays", "request", request, "error", removed)
	}

	return err
}

// answeredOutput is the answer to a request whose task should have got the outcome want.
func answeredOutput(task tasktoken.Task, outcome, want activities.Outcome, err error) (*answerParkedOutput, error) {
	switch outcome {
	case want:
		return &answerParkedOutput{Body: shownTask(task)}, nil
	case activities.Lost:
		return nil, newProblem(http.StatusConflict, "task_ended", "The task had ended before: it was answered, it timed out, or its execution has ended.")
	case activities.Unknown:
		return nil, newProblem(http.StatusConflict, "unknown_outcome", "The task has ended. It is not known whether this request has answered it.")
	case activities.Failed:
		return nil, newProblem(http.StatusConflict, "output_refused", "The output could not be sent. The task was failed instead.")
	default:
		return nil, err
	}
}
