package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/waiting"
)

// pollTime is the time after which a poll without a task returns.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_GetActivityTask.html
const pollTime = 60 * time.Second

// errCallerGone reports that the caller has disconnected before its task was started.
var errCallerGone = errors.New("the caller has gone")

// getActivityTask waits up to pollTime for a task. A task whose caller disconnects before
// the task is marked as started goes back to its place in the queue.
func (s *Service) getActivityTask(ctx context.Context, body []byte) (any, error) {
	in, err := requests.Texts(body, "activityArn", "workerName")
	if err != nil {
		return nil, err
	}

	arn, worker := in[0], in[1]
	if err := checkWorker(worker); err != nil {
		return nil, err
	}

	if err := s.activities.Check(arn); err != nil {
		return nil, err
	}

	q := s.queues.Of(arn)
	wait, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()

	for {
		task, ok := q.Take(wait)
		if !ok {
			// If the caller has disconnected, no answer reaches it.
			if ctx.Err() != nil {
				return nil, context.Canceled
			}

			// The time is over without a task. The API answers null, and not an error.
			return json.RawMessage(`{"taskToken":null}`), nil
		}

		answer, err := s.startTask(ctx, task, worker)
		switch {
		case errors.Is(err, execution.ErrNotScheduled), errors.Is(err, requests.ErrNoExecution):
			// The task ended before this poll could start it. The next task may be there already.
			continue
		case errors.Is(err, errCallerGone):
			q.Put(task)
			return nil, context.Canceled
		case err != nil:
			q.Put(task)
			return nil, err
		}

		return answer, nil
	}
}

// checkWorker fails for a worker's name that is too long. The API takes any other one: it is no name of a resource,
// and InvalidName is no error of the operation.
func checkWorker(name string) error { return requests.AtMost(name, "workerName", arns.MaxName) }

// startTask marks the task as started and returns its token and input.
func (s *Service) startTask(ctx context.Context, task waiting.Placed, worker string) (any, error) {
	token := taskToken{execution: task.Execution, thread: task.Thread, secret: newSecret()}

	var input []byte
	start := func(env *execution.Env, st *execution.State) (turn *execution.Turn, err error) {
		// Checked under the execution's lock, as late as possible: a task that is started for a caller
		// that has gone is lost until its heartbeat times out.
		if ctx.Err() != nil {
			return nil, errCallerGone
		}

		input, turn, err = env.StartTask(st, task.Thread, task.Attempt, worker, token.secret)

		return turn, err
	}

	batch, err := s.stimulate(ctx, task.Execution, start)
	// The token leaves only after it is on disk.
	if syncErr := syncBatch(batch); syncErr != nil || err != nil {
		return nil, errors.Join(err, syncErr)
	}

	// A quarter more than the input is usually enough for the quotes that AppendBytes escapes.
	answer := append(make([]byte, 0, len(input)+len(input)/4+128), `{"taskToken":"`...)
	answer = append(append(answer, token.String()...), `","input":`...)

	return json.RawMessage(append(rawjson.AppendBytes(answer, input), '}')), nil
}
