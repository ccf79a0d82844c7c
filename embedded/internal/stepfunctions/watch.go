package stepfunctions

import (
	"context"
	"errors"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/waiting"
	"ratchet/embedded/internal/wire"
)

// runWatches ends tasks whose executions have ended, until ctx ends.
func (s *Service) runWatches(ctx context.Context) error {
	q := s.queues.Of(execution.WatchQueue)
	for {
		task, ok := q.Take(ctx)
		if !ok {
			return nil
		}

		err := s.watch(ctx, task)
		// Not scheduled means that the task was over already.
		if err != nil && !errors.Is(err, execution.ErrNotScheduled) && !errors.Is(err, requests.ErrNoExecution) {
			s.retryCall(ctx, q, task, err)
		}
	}
}

// watch ends a task whose watched execution has ended, and lets any other task wait on.
func (s *Service) watch(ctx context.Context, task waiting.Placed) error {
	var call execution.Call
	var submitted []byte

	_, err := s.stimulate(ctx, task.Execution, func(env *execution.Env, st *execution.State) (_ *execution.Turn, err error) {
		call, submitted, err = env.Watch(st, task.Thread, task.Attempt)
		// No turn: this stimulus only reads.
		return nil, err
	})
	if err != nil {
		return err
	}

	value, _ := rawjson.Member(submitted, "ExecutionArn")
	arn, _ := rawjson.Text(value)

	key, m, err := s.executionNamed(arn)
	if refused := (*wire.Error)(nil); errors.As(err, &refused) {
		// The execution was deleted with its machine. Or it is an
		// Express execution, which has no description.
		return s.storeWatched(ctx, task, nil, s.calls.Refusal(call, refused))
	}

	if err != nil {
		return err
	}

	st, err := s.watchRunning(key, task)
	if errors.Is(err, requests.ErrNoExecution) {
		// Deleted since it was looked up.
		return s.storeWatched(ctx, task, nil, s.calls.Refusal(call, executionDoesNotExist(arn)))
	}

	// While the execution runs, the task is in the index. The end of the execution puts the
	// task into the queue again.
	if err != nil || st.Status == execution.Running {
		return err
	}

	description, succeeded, err := s.endedExecution(key, m, st, call.Parsed)
	if err != nil {
		return err
	}

	if !succeeded {
		return s.storeWatched(ctx, task, nil, &execution.CallFailure{Name: "States.TaskFailed", Cause: string(description)})
	}

	return s.storeWatched(ctx, task, description, nil)
}

// watchRunning returns the state of an execution. If the execution
// runs, the task waits for its end from now on.
func (s *Service) watchRunning(key keys.Execution, task waiting.Placed) (*execution.State, error) {
	lock := s.lock(key)
	lock.Lock()
	defer lock.Unlock()

	// Read and added under one lock: an end between the two steps would never reach the task.
	_, st, err := s.loadExecution(key)
	if err == nil && st.Status == execution.Running {
		s.watchers.Add(key, task)
	}

	return st, err
}

func (s *Service) storeWatched(ctx context.Context, task waiting.Placed, output []byte, failed *execution.CallFailure) error {
	batch, err := s.stimulate(ctx, task.Execution, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Watched(st, task.Thread, task.Attempt, output, failed)
	})

	return errors.Join(err, syncBatch(batch))
}
