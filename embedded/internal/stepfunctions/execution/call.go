package execution

import (
	"errors"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// Call is a call of another service that a task makes.
type Call struct {
	asl.Integration
	// Parameters is the request as JSON.
	Parameters []byte
}

// CallFailure is the error with which another service refuses a call.
type CallFailure struct{ Name, Cause string }

// scheduleCall lets the engine call another service. TimeoutSeconds counts from here.
func (t *turn) scheduleCall(th *thread, s *asl.State, in *Doc) error {
	// The parameters may contain the token, so it exists before they do.
	th.phase, th.token = calling, t.env.NewSecret()

	parameters, err := t.taskInput(th, s, in)
	if err != nil {
		return err
	}

	t.enqueue(th, calling, Event{Type: TaskScheduled, Doc: parameters})

	if th.timeout > 0 {
		th.timeoutAt = t.now + th.timeout*1000
	}

	return nil
}

// Call returns the call that a task waits for. It fails with ErrNotScheduled when the task
// is over or its call has been answered.
func (e *Env) Call(s *State, id, attempt int64) (Call, error) {
	th := s.thread(id)
	if s.Status != Running || th == nil || th.phase != calling || th.attempt != attempt {
		return Call{}, ErrNotScheduled
	}

	t := e.turn(s)
	parameters, err := t.document(th.taskInput)

	return Call{Integration: *t.state(th).Integration, Parameters: parameters}, err
}

// Called applies the answer to a task's call: its output, or a failure. The task ends with
// it, or waits for the answer to its token from now on. It fails with ErrNotScheduled when
// the task is over, or was answered before the call was; the turn then holds what was due
// before.
func (e *Env) Called(s *State, id, attempt int64, output []byte, refused *CallFailure) (*Turn, error) {
	t := e.turn(s)
	t.expire()

	th := s.thread(id)
	if s.Status != Running || th == nil || th.phase != calling || th.attempt != attempt {
		turn, err := t.end()
		return turn, errors.Join(err, ErrNotScheduled)
	}

	t.recordStarted(th)
	callback := t.state(th).Integration.Callback

	switch {
	case refused != nil:
		event := TaskFailed
		if callback {
			event = TaskSubmitFailed
		}

		t.recordOn(th, Event{Type: event, Error: refused.Name, Cause: refused.Cause})
		t.fail(th, &failure{name: refused.Name, cause: refused.Cause})
	case len(output) > MaxDocument:
		t.try(th, func() error { _, err := t.checkSize(th, output); return err })
	case callback:
		t.recordOn(th, Event{Type: TaskSubmitted, Doc: &Doc{JSON: output}})

		th.phase = started
		if th.heartbeat > 0 {
			th.heartbeatAt = t.now + th.heartbeat*1000
		}
	default:
		doc := &Doc{JSON: output}
		t.recordOn(th, Event{Type: TaskSucceeded, Doc: doc})
		t.try(th, func() error {
			raw, err := t.rawInput(th)
			if err != nil {
				return err
			}

			return t.complete(th, raw, doc)
		})
	}

	return t.end()
}

// recordStarted records the start of a call, once. A token can be answered before the call
// that carried it is.
func (t *turn) recordStarted(th *thread) {
	if th.phase == calling {
		t.recordOn(th, Event{Type: TaskStarted})
	}
}

// awaitsAnswer reports whether the answer to the thread's token ends its task.
func (t *turn) awaitsAnswer(th *thread) bool {
	if th.phase == calling {
		return t.state(th).Integration.Callback
	}

	return th.phase == started
}

// taskEvent returns the event of an activity's task, or of a call of another service.
func (t *turn) taskEvent(th *thread, activity, call EventType) EventType {
	if t.state(th).Integration != nil {
		return call
	}

	return activity
}
