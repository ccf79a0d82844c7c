package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// Limits of the task operations.
const (
	pollTime = 60 * time.Second
	maxError = 256
	maxCause = 32768
)

// errGone says that the caller has gone before its task was started.
var errGone = errors.New("the caller has gone")

// getActivityTask waits up to a minute for a task. A task is marked as started
// only for a caller that is still there; one whose caller has gone before goes
// back to its place in the queue.
func (s *Service) getActivityTask(ctx context.Context, body []byte) (any, error) {
	in, err := members(body, "activityArn", "workerName")
	if err != nil {
		return nil, err
	}

	arn, worker := in[0], in[1]
	if worker != "" {
		if err := checkName(worker); err != nil {
			return nil, err
		}
	}

	if _, err := s.activityNamed(arn); err != nil {
		return nil, err
	}
	q := s.queue(arn)
	wait, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()

	for {
		task, ok := q.take(wait)
		if !ok {
			if ctx.Err() != nil {
				return nil, context.Canceled // nobody is there to answer
			}
			return json.RawMessage(`{"taskToken":null}`), nil
		}

		answer, err := s.startTask(ctx, task, worker)
		switch {
		case errors.Is(err, execution.ErrNotScheduled), errors.Is(err, errNoExecution):
			continue // its execution has gone on without it
		case errors.Is(err, errGone):
			q.put(task)
			return nil, context.Canceled
		case err != nil:
			q.put(task)
			return nil, err
		}

		return answer, nil
	}
}

func (s *Service) startTask(ctx context.Context, task taskOrder, worker string) (any, error) {
	token := taskToken{execution: task.execution, thread: task.thread, secret: newSecret()}
	var input []byte

	batch, err := s.stimulate(task.execution, func(env *execution.Env, st *execution.State) (turn *execution.Turn, err error) {
		if ctx.Err() != nil {
			return nil, errGone
		}
		input, turn, err = env.StartTask(st, task.thread, task.attempt, worker, token.secret)

		return turn, err
	})
	if syncErr := settle(batch); syncErr != nil || err != nil {
		return nil, errors.Join(err, syncErr)
	}
	answer := append(make([]byte, 0, len(input)+len(input)/4+128), `{"taskToken":"`...)
	answer = append(append(answer, token.String()...), `","input":`...)

	return json.RawMessage(append(rawjson.AppendBytes(answer, input), '}')), nil
}

func (s *Service) sendTaskSuccess(_ context.Context, body []byte) (any, error) {
	in, err := members(body, "taskToken", "output")
	if err != nil {
		return nil, err
	}

	token, err := readToken(in[0])
	if err != nil {
		return nil, err
	}

	output := []byte(in[1])
	if len(output) > execution.MaxDocument {
		return nil, validation("1 validation error detected: Value at 'output' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", execution.MaxDocument)
	}

	if err := rawjson.Valid(output); err != nil {
		return nil, wire.Errorf("InvalidOutput", "Invalid Output: '%v'", err)
	}

	return s.onTask(token, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Succeed(st, token.thread, token.secret, output)
	})
}

func (s *Service) sendTaskFailure(_ context.Context, body []byte) (any, error) {
	in, err := members(body, "taskToken", "error", "cause")
	if err != nil {
		return nil, err
	}

	token, err := readToken(in[0])
	if err != nil {
		return nil, err
	}

	if err := checkError(in[1], in[2]); err != nil {
		return nil, err
	}

	return s.onTask(token, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Fail(st, token.thread, token.secret, in[1], in[2])
	})
}

func checkError(name, cause string) error {
	if utf8.RuneCountInString(name) > maxError || utf8.RuneCountInString(cause) > maxCause {
		return validation("1 validation error detected: Value at 'error' or 'cause' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d and %d", maxError, maxCause)
	}

	return nil
}

func (s *Service) sendTaskHeartbeat(_ context.Context, body []byte) (any, error) {
	in, err := members(body, "taskToken")
	if err != nil {
		return nil, err
	}

	token, err := readToken(in[0])
	if err != nil {
		return nil, err
	}

	return s.onTask(token, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Heartbeat(st, token.thread, token.secret)
	})
}

// onTask applies what a worker says of its task.
func (s *Service) onTask(token taskToken, apply stimulus) (any, error) {
	batch, err := s.stimulate(token.execution, apply)
	if syncErr := settle(batch); syncErr != nil {
		return nil, errors.Join(err, syncErr)
	}

	switch {
	case errors.Is(err, errNoExecution):
		return nil, wire.Errorf("TaskDoesNotExist", "Task Does Not Exist: 'Provided task does not exist'")
	case errors.Is(err, execution.ErrTaskTimedOut):
		return nil, wire.Errorf("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
	case err != nil:
		return nil, err
	}

	return empty, nil
}
