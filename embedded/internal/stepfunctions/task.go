package stepfunctions

import (
	"cmp"
	"context"
	"errors"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

func (s *Service) sendTaskSuccess(ctx context.Context, body []byte) (any, error) {
	in, err := requests.Texts(body, "taskToken", "output")
	if err != nil {
		return nil, err
	}

	output := []byte(in[1])
	if len(output) > execution.MaxDocument {
		return nil, requests.Invalid("1 validation error detected: Value at 'output' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", execution.MaxDocument)
	}

	token, err := readToken(in[0])
	if err != nil {
		return nil, err
	}

	if err := rawjson.Valid(output); err != nil {
		return nil, wire.Errorf("InvalidOutput", "Invalid Output: '%v'", err)
	}

	return s.applyToTask(ctx, token, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Succeed(st, token.thread, token.secret, output)
	})
}

func (s *Service) sendTaskFailure(ctx context.Context, body []byte) (any, error) {
	in, err := requests.Texts(body, "taskToken", "error", "cause")
	if err != nil {
		return nil, err
	}

	if err := checkError(in[1], in[2]); err != nil {
		return nil, err
	}

	token, err := readToken(in[0])
	if err != nil {
		return nil, err
	}

	return s.applyToTask(ctx, token, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Fail(st, token.thread, token.secret, in[1], in[2])
	})
}

// Limits of errors and causes, in characters.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskFailure.html
const (
	maxError = 256
	maxCause = 32768
)

func checkError(name, cause string) error {
	return cmp.Or(requests.SecretAtMost(name, "error", maxError), requests.SecretAtMost(cause, "cause", maxCause))
}

func (s *Service) sendTaskHeartbeat(ctx context.Context, body []byte) (any, error) {
	in, err := requests.Texts(body, "taskToken")
	if err != nil {
		return nil, err
	}

	token, err := readToken(in[0])
	if err != nil {
		return nil, err
	}

	return s.applyToTask(ctx, token, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Heartbeat(st, token.thread, token.secret)
	})
}

// applyToTask applies a completion or heartbeat to a task.
func (s *Service) applyToTask(ctx context.Context, token taskToken, apply stimulus) (any, error) {
	batch, err := s.stimulate(ctx, token.execution, apply)
	if syncErr := syncBatch(batch); syncErr != nil {
		// Synced even beside an error: the turn may hold the timeout that made this answer late.
		return nil, errors.Join(err, syncErr)
	}

	switch {
	case errors.Is(err, requests.ErrNoExecution):
		// The machine was deleted, and the execution with it.
		return nil, wire.Errorf("TaskDoesNotExist", "Task Does Not Exist: 'Provided task does not exist'")
	case errors.Is(err, execution.ErrTaskTimedOut):
		return nil, wire.Errorf("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
	case err != nil:
		return nil, err
	}

	return requests.Empty, nil
}
