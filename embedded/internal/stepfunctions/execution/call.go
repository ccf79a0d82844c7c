package execution

import (
	"cmp"
	"fmt"

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

// scheduleCall lets the engine call another service or a function. TimeoutSeconds counts from here.
func (t *turn) scheduleCall(th *thread, s *asl.State, in *Doc) error {
	// The parameters may contain the token, so it exists before they do.
	th.phase, th.token = calling, t.env.NewSecret()

	parameters, err := t.taskInput(th, s, in)
	if err != nil {
		return err
	}

	t.enqueue(th, calling, Event{Type: t.taskEvents(th).scheduled, Doc: parameters})

	if th.timeout > 0 {
		th.timeoutAt = t.now + th.timeout*1000
	}

	return nil
}

// Call returns the call that a task waits for. It fails with ErrNotScheduled when the task
// is over or its call has been answered.
func (e *Env) Call(s *State, id, attempt int64) (Call, error) {
	th := s.task(calling, id, attempt)
	if th == nil {
		return Call{}, ErrNotScheduled
	}

	t := e.turn(s)
	parameters, err := t.document(th.taskInput)

	return Call{Integration: *t.state(th).Integration, Parameters: parameters}, err
}

// Called applies the answer to a task's call: its output, or a failure. The task ends with the answer, or
// waits for the answer to its token from now on. Called fails with ErrNotScheduled when the task is over,
// or was answered before its call. The turn then holds the effect of due timers.
func (e *Env) Called(s *State, id, attempt int64, output []byte, refused *CallFailure) (*Turn, error) {
	t := e.turn(s)
	t.expire()

	th := s.task(calling, id, attempt)
	if th == nil {
		return t.notScheduled()
	}

	t.recordStarted(th)
	call := t.state(th).Integration

	// An answer over the limit is a failure of the call, not of the state's fields.
	if refused == nil && len(output) > MaxDocument {
		refused = tooLarge(call)
	}

	switch {
	case refused != nil:
		event := t.taskEvents(th).failed
		// The call was to start the work only, so its failure has an event of its own.
		if call.Callback || call.Sync {
			event = TaskSubmitFailed
		}

		t.recordOn(th, Event{Type: event, Error: refused.Name, Cause: refused.Cause})
		t.fail(th, &failure{name: refused.Name, cause: refused.Cause, answered: true})
	case call.Sync:
		doc := &Doc{JSON: output}
		t.recordOn(th, Event{Type: TaskSubmitted, Doc: doc})

		// Watch reads the ARN of the execution from this answer. The task joins another queue,
		// behind the tasks in it.
		th.phase, th.taskInput, th.queue = watching, doc.Ref, t.env.Sequence()
	case call.Callback:
		t.recordOn(th, Event{Type: TaskSubmitted, Doc: &Doc{JSON: output}})

		th.phase = started
		// HeartbeatSeconds counts from here, TimeoutSeconds from the scheduling.
		if th.heartbeat > 0 {
			th.heartbeatAt = t.now + th.heartbeat*1000
		}
	default:
		t.taskSucceeded(th, output)
	}

	return t.end()
}

// tooLarge is the failure of a call whose answer is over the service's limit.
// Source: LocalStack's recordings of AWS (test_states_errors).
func tooLarge(call *asl.Integration) *CallFailure {
	resource := cmp.Or(call.Function, call.ResourceType)

	return &CallFailure{Name: dataLimitError, Cause: fmt.Sprintf(sizeCause, resource)}
}

// taskSucceeded ends a task whose call has succeeded, or whose watched execution has.
func (t *turn) taskSucceeded(th *thread, output []byte) {
	doc := &Doc{JSON: output}
	t.recordOn(th, Event{Type: t.taskEvents(th).succeeded, Doc: doc})
	t.try(th, func() error {
		raw, err := t.rawInput(th)
		if err != nil {
			return err
		}

		return t.complete(th, raw, doc)
	})
}

// Watch returns the answer to the call with which a task has started the execution that it
// waits for. It fails with ErrNotScheduled when the task is over.
func (e *Env) Watch(s *State, id, attempt int64) (Call, []byte, error) {
	th := s.task(watching, id, attempt)
	if th == nil {
		return Call{}, nil, ErrNotScheduled
	}

	t := e.turn(s)
	submitted, err := t.document(th.taskInput)

	return Call{Integration: *t.state(th).Integration}, submitted, err
}

// Watched ends a task with the execution that it has waited for: with the execution's
// description, or with a failure. It fails as Called does.
func (e *Env) Watched(s *State, id, attempt int64, output []byte, failed *CallFailure) (*Turn, error) {
	t := e.turn(s)
	t.expire()

	th := s.task(watching, id, attempt)
	if th == nil {
		return t.notScheduled()
	}

	switch {
	case failed != nil:
		t.recordOn(th, Event{Type: TaskFailed, Error: failed.Name, Cause: failed.Cause})
		t.fail(th, &failure{name: failed.Name, cause: failed.Cause})
	case len(output) > MaxDocument:
		// checkSize is called for its failure, whose cause names the state.
		t.try(th, func() error { _, err := t.checkSize(th, output); return err })
	default:
		t.taskSucceeded(th, output)
	}

	return t.end()
}

// recordStarted records the start of a call, once. An answer to the token can come before the answer to
// the call that carried the token.
func (t *turn) recordStarted(th *thread) {
	if th.phase == calling {
		t.recordOn(th, Event{Type: t.taskEvents(th).started})
	}
}

// awaitsAnswer reports whether the answer to the thread's token ends its task. A task that waits for an
// execution is ended by such an answer, too.
// Source: LocalStack's recordings of AWS (test_sync_with_task_token).
func (t *turn) awaitsAnswer(th *thread) bool {
	if th.phase == calling {
		call := t.state(th).Integration
		return call.Callback || call.Sync
	}

	return th.phase == started || th.phase == watching
}
