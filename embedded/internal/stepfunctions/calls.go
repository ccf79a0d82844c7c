package stepfunctions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/waiting"
)

// callers is how many calls of other services run at the same time. functionsAtATime is how many functions
// of the embedding program do. Further ones wait.
// Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
const (
	callers          = 32
	functionsAtATime = 1000
)

// runCalls makes the calls of other services that tasks wait for, until ctx ends. A call
// that a crash interrupts is made again, as on AWS: a service integration runs at least
// once.
func (s *Service) runCalls(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for range callers {
		g.Go(func() error {
			for s.takeCall(ctx, s.queues.Of(execution.CallQueue), s.makeCall) {
			}

			return nil
		})
	}

	// Functions have slots of their own: a function may wait for other
	// executions, whose calls must not wait for it.
	places := make(chan struct{}, functionsAtATime)
	begin := func(ctx context.Context, q *waiting.Queue, task waiting.Placed) {
		g.Go(func() error {
			s.makeCall(ctx, q, task)
			<-places

			return nil
		})
	}

	g.Go(func() error {
		// The slot is taken before the task, so that a task stays in its queue, where a timeout can remove
		// it, while all slots are in use.
		for {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return nil
			}

			if !s.takeCall(ctx, s.queues.Of(execution.FunctionQueue), begin) {
				return nil
			}
		}
	})

	return g.Wait()
}

// takeCall waits for a task, and for room on the disk, and passes it on. It returns false if ctx ends.
func (s *Service) takeCall(ctx context.Context, q *waiting.Queue, pass func(context.Context, *waiting.Queue, waiting.Placed)) bool {
	task, ok := q.Take(ctx)
	if !ok {
		return false
	}

	// The queue is memory only, so the task goes back for a later Run of this service.
	if !s.waitForRoom(ctx) {
		q.Put(task)
		return false
	}

	pass(ctx, q, task)

	return true
}

// retryCall puts back a task whose call could not be made or whose answer could not be stored.
func (s *Service) retryCall(ctx context.Context, q *waiting.Queue, task waiting.Placed, err error) {
	if ctx.Err() == nil {
		s.log.Error("step functions: service integration", "machine", task.Execution.Machine,
			"execution", task.Execution.ID, "error", err)

		// Without the wait, a lasting fault would make this loop busy.
		select {
		case <-ctx.Done():
		case <-time.After(timerRetry):
		}
	}

	q.Put(task)
}

// call returns the call that a task waits for.
func (s *Service) call(ctx context.Context, task waiting.Placed) (call execution.Call, err error) {
	// No turn is returned: this stimulus reads the state under the lock and stores nothing.
	_, err = s.stimulate(ctx, task.Execution, func(env *execution.Env, st *execution.State) (_ *execution.Turn, err error) {
		call, err = env.Call(st, task.Thread, task.Attempt)
		return nil, err
	})

	return call, err
}

// makeCall makes the call of one task and applies its answer. If the answer cannot be stored, the task
// goes back into the queue and the call is made again.
func (s *Service) makeCall(ctx context.Context, q *waiting.Queue, task waiting.Placed) {
	call, err := s.call(ctx, task)
	if err == nil {
		output, refused := s.calls.Call(ctx, call, startName(task.Task))

		// The end of ctx interrupts a call with an error, which is not the service's answer.
		err = ctx.Err()
		if err == nil {
			err = s.storeAnswer(ctx, task, output, refused)
		}
	}

	if errors.Is(err, execution.ErrNotScheduled) || errors.Is(err, requests.ErrNoExecution) {
		return // the task was over before its call was answered
	}

	if err != nil {
		s.retryCall(ctx, q, task, err)
	}
}

func (s *Service) storeAnswer(ctx context.Context, task waiting.Placed, output []byte, refused *execution.CallFailure) error {
	batch, err := s.stimulate(ctx, task.Execution, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Called(st, task.Thread, task.Attempt, output, refused)
	})

	return errors.Join(err, syncBatch(batch))
}

// startName returns the name of an execution that a task starts without a name. A repeated call
// finds the execution of the first call under it.
func startName(t waiting.Task) string {
	return fmt.Sprintf("task-%d-%d-%d-%d", t.Execution.Machine, t.Execution.ID, t.Thread, t.Attempt)
}
