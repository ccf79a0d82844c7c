package stepfunctions

import (
	"context"
	"errors"
	"sync"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// watchers are the tasks that wait for the end of executions. They are an index in memory: New queues the
// waiting tasks of all running executions, and runWatches adds them to the index.
type watchers struct {
	mu sync.Mutex
	// tasks has the waiting tasks and their order, by the execution for which
	// they wait. watched has that execution by task.
	tasks   map[keys.Execution]map[queuedTask]int64
	watched map[queuedTask]keys.Execution
}

// add lets a task wait for an execution. The caller holds the execution's lock.
func (w *watchers) add(key keys.Execution, t taskOrder) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.tasks == nil {
		w.tasks, w.watched = map[keys.Execution]map[queuedTask]int64{}, map[queuedTask]keys.Execution{}
	}

	if w.tasks[key] == nil {
		w.tasks[key] = map[queuedTask]int64{}
	}

	w.tasks[key][t.queuedTask], w.watched[t.queuedTask] = t.order, key
}

// remove removes a task that is over.
func (w *watchers) remove(t queuedTask) {
	w.mu.Lock()
	defer w.mu.Unlock()

	key, ok := w.watched[t]
	if !ok {
		return
	}

	delete(w.watched, t)
	delete(w.tasks[key], t)

	if len(w.tasks[key]) == 0 {
		delete(w.tasks, key)
	}
}

// ended removes and returns the tasks that wait for an execution that has
// just ended. The caller holds the execution's lock.
func (w *watchers) ended(key keys.Execution) (all []taskOrder) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for t, order := range w.tasks[key] {
		all = append(all, taskOrder{t, order})
		delete(w.watched, t)
	}

	delete(w.tasks, key)

	return all
}

// runWatches ends tasks whose executions have ended, until ctx ends.
func (s *Service) runWatches(ctx context.Context) error {
	q := s.queue(execution.WatchQueue)
	for {
		task, ok := q.take(ctx)
		if !ok {
			return nil
		}

		err := s.watch(ctx, task)
		// Not scheduled means that the task was over already.
		if err != nil && !errors.Is(err, execution.ErrNotScheduled) && !errors.Is(err, errNoExecution) {
			s.retryCall(ctx, q, task, err)
		}
	}
}

// watch ends a task whose watched execution has ended, and lets any other task wait on.
func (s *Service) watch(ctx context.Context, task taskOrder) error {
	var call execution.Call
	var submitted []byte

	_, err := s.stimulate(ctx, task.execution, func(env *execution.Env, st *execution.State) (_ *execution.Turn, err error) {
		call, submitted, err = env.Watch(st, task.thread, task.attempt)
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
		return s.storeWatched(ctx, task, nil, s.refusal(call, refused))
	}

	if err != nil {
		return err
	}

	st, err := s.watchRunning(key, task)
	if errors.Is(err, errNoExecution) {
		// Deleted since it was looked up.
		return s.storeWatched(ctx, task, nil, s.refusal(call, executionDoesNotExist(arn)))
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
func (s *Service) watchRunning(key keys.Execution, task taskOrder) (*execution.State, error) {
	lock := s.lock(key)
	lock.Lock()
	defer lock.Unlock()

	// Read and added under one lock: an end between the two steps would never reach the task.
	_, st, err := s.loadExecution(key)
	if err == nil && st.Status == execution.Running {
		s.watchers.add(key, task)
	}

	return st, err
}

func (s *Service) storeWatched(ctx context.Context, task taskOrder, output []byte, failed *execution.CallFailure) error {
	batch, err := s.stimulate(ctx, task.execution, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Watched(st, task.thread, task.attempt, output, failed)
	})

	return errors.Join(err, syncBatch(batch))
}
