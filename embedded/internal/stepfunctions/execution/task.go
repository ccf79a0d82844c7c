package execution

import (
	"crypto/subtle"
	"errors"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// TokenSize is the number of random bytes that bind a task token.
const TokenSize = 16

// Task is a task that waits in the queue of its activity.
type Task struct {
	Thread, Attempt int64
	// Queue orders tasks: smaller is older.
	Queue    uint64
	Resource string
}

// CallQueue is the Resource of the tasks that wait for the engine itself: calls of other
// services.
const CallQueue = "calls"

// FunctionQueue is the Resource of the tasks that wait for a function of the embedding program.
const FunctionQueue = "functions"

// WatchQueue is the Resource of the tasks that wait for the end of an execution.
const WatchQueue = "watches"

// Tasks returns the tasks that wait for a worker, or for the engine to make their call or to
// watch the execution that it has started.
func (s *State) Tasks(m *asl.Machine) []Task {
	if s.Status != Running {
		return nil
	}

	var tasks []Task
	for _, t := range s.threads {
		var resource string
		switch t.phase {
		case scheduled:
			resource = m.States[t.state].Resource
		case calling:
			resource = CallQueue
			if m.States[t.state].Integration.Service == "lambda" {
				resource = FunctionQueue
			}
		case watching:
			resource = WatchQueue
		default:
			continue
		}

		tasks = append(tasks, Task{Thread: t.id, Attempt: t.attempt, Queue: t.queue, Resource: resource})
	}

	return tasks
}

// task returns the thread whose task is in the phase with that attempt, nil if there is none.
func (s *State) task(p phase, id, attempt int64) *thread {
	th := s.thread(id)
	if s.Status != Running || th == nil || th.phase != p || th.attempt != attempt {
		return nil
	}

	return th
}

// notScheduled ends the turn of a stimulus that has come too late for its task.
func (t *turn) notScheduled() (*Turn, error) {
	turn, err := t.end()
	return turn, errors.Join(err, ErrNotScheduled)
}

// StartTask gives a scheduled task to a worker and returns its input. token is the secret that completes
// the task. StartTask fails with ErrNotScheduled when another worker has the task or the task is over. The
// turn then holds the effect of due timers.
func (e *Env) StartTask(
	s *State, id, attempt int64, worker string, token [TokenSize]byte,
) (input []byte, _ *Turn, err error) {
	t := e.turn(s)
	// A timer that was due may have ended the task.
	t.expire()

	th := s.task(scheduled, id, attempt)
	if th == nil {
		turn, err := t.notScheduled()
		return nil, turn, err
	}

	if input, err = t.document(th.taskInput); err != nil {
		return nil, nil, err
	}

	th.phase, th.token = started, token
	// Both limits count from the start: the wait in the queue is not bounded by them.
	if th.timeout > 0 {
		th.timeoutAt = t.now + th.timeout*1000
	}

	if th.heartbeat > 0 {
		th.heartbeatAt = t.now + th.heartbeat*1000
	}

	t.recordOn(th, Event{Type: ActivityStarted, Worker: worker})
	turn, err := t.end()

	return input, turn, err
}

// Succeed ends a started task with its output. Of several callers one succeeds, the others
// fail with ErrTaskTimedOut.
func (e *Env) Succeed(s *State, id int64, token [TokenSize]byte, output []byte) (*Turn, error) {
	return e.completeTask(s, id, token, func(t *turn, th *thread) {
		doc := &Doc{JSON: output}
		t.recordStarted(th)
		t.recordOn(th, Event{Type: t.taskEvents(th).succeeded, Doc: doc})
		t.try(th, func() error {
			raw, err := t.rawInput(th)
			if err != nil {
				return err
			}

			return t.complete(th, raw, doc)
		})
	})
}

// Fail ends a started task with an error. It fails as Succeed does.
func (e *Env) Fail(s *State, id int64, token [TokenSize]byte, name, cause string) (*Turn, error) {
	return e.completeTask(s, id, token, func(t *turn, th *thread) {
		t.recordStarted(th)
		t.recordOn(th, Event{Type: t.taskEvents(th).failed, Error: name, Cause: cause})
		t.fail(th, &failure{name: name, cause: cause, told: true})
	})
}

// Heartbeat restarts the heartbeat timeout of a started task. It fails as Succeed does.
func (e *Env) Heartbeat(s *State, id int64, token [TokenSize]byte) (*Turn, error) {
	return e.completeTask(s, id, token, func(t *turn, th *thread) {
		if th.heartbeat > 0 {
			th.heartbeatAt = t.now + th.heartbeat*1000
		}
	})
}

// completeTask checks the token and calls apply. Beside ErrTaskTimedOut there may be a turn: it holds the
// effect of due timers.
func (e *Env) completeTask(s *State, id int64, token [TokenSize]byte, apply func(*turn, *thread)) (*Turn, error) {
	// First the timers: an answer after the deadline is late, also if Tick has not run yet.
	t := e.turn(s)
	t.expire()

	th := s.thread(id)
	late := s.Status != Running || th == nil || !t.awaitsAnswer(th) ||
		subtle.ConstantTimeCompare(th.token[:], token[:]) != 1
	if !late {
		apply(t, th)
	}

	turn, err := t.end()
	if late {
		err = errors.Join(err, ErrTaskTimedOut)
	}

	return turn, err
}
