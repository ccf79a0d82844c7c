package execution

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Error names with a meaning of their own.
const (
	timeoutError   = "States.Timeout"
	heartbeatError = "States.HeartbeatTimeout"
	runtimeError   = "States.Runtime"
	dataLimitError = "States.DataLimitExceeded"
	intrinsicError = "States.IntrinsicFailure"
	anyError       = "States.ALL"
	taskError      = "States.TaskFailed"
)

// failure is an error of the workflow.
type failure struct {
	name, cause string
	// heartbeat tells a missed heartbeat from a time-out; AWS records both as
	// States.Timeout.
	heartbeat bool
}

func (f *failure) Error() string { return f.name + ": " + f.cause }

// matches reports whether ErrorEquals takes the failure. States.Runtime always
// ends the execution; States.ALL leaves States.DataLimitExceeded alone.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
func (f *failure) matches(names []string) bool {
	if f.name == runtimeError {
		return false
	}

	return slices.ContainsFunc(names, func(name string) bool {
		switch name {
		case anyError:
			return f.name != dataLimitError
		case taskError:
			return f.name != timeoutError && f.name != dataLimitError
		case heartbeatError:
			return f.heartbeat || f.name == name
		default:
			return f.name == name
		}
	})
}

// fault is a States.Runtime failure in AWS's words.
func (t *turn) fault(th *thread, format string, args ...any) *failure {
	return &failure{name: runtimeError, cause: t.where(th) + fmt.Sprintf(format, args...)}
}

func (t *turn) where(th *thread) string {
	return fmt.Sprintf("An error occurred while executing the state '%s' (entered at the event id #%d). ", t.state(th).Name, th.enteredEvent)
}

// maxCauseInput is how much of an input a cause quotes.
const maxCauseInput = 1024

// templateFault turns an error of an expression into a failure.
func (t *turn) templateFault(th *thread, doc *Doc, err error) error {
	var field *jsonpath.FieldError
	var missing *jsonpath.NotFoundError
	var intrinsic *jsonpath.IntrinsicError
	switch {
	case errors.As(err, &intrinsic):
		return &failure{name: intrinsicError, cause: t.where(th) + intrinsic.Error()}
	case errors.As(err, &missing) && errors.As(err, &field):
		input := doc.JSON
		if len(input) > maxCauseInput {
			input = input[:maxCauseInput]
		}

		return t.fault(th, "The JSONPath '%s' specified for the field '%s' could not be found in the input '%s'", missing.Path, field.Field, input)
	}

	return t.fault(th, "%v", err)
}

// fail looks for a Retry or Catch that takes the failure, from the thread's
// state outwards. Without one the execution fails, and its threads stay as they
// are for a redrive.
func (t *turn) fail(th *thread, f *failure) {
	if t.exhausted {
		return
	}

	handler := th
	for handler != nil && t.retrier(handler, f) < 0 && t.catcher(handler, f) == nil {
		handler = t.s.thread(handler.parent)
	}

	prev := th.last
	for inner := th; inner != handler && inner.parent != 0; {
		outer := t.s.thread(inner.parent)
		prev = t.unwind(inner, outer, prev)
		if handler != nil {
			t.removeUnder(outer)
			outer.last = prev
		}
		inner = outer
	}

	if handler == nil {
		th.phase = halted
		t.record(Event{Type: ExecutionFailed, Prev: prev, State: -1, Error: f.name, Cause: f.cause})
		t.finish(Failed, f.name, f.cause)
		return
	}

	handler.token = [TokenSize]byte{}
	if i := t.retrier(handler, f); i >= 0 {
		t.retry(handler, i)
		return
	}
	t.catch(handler, t.catcher(handler, f), f)
}

// unwind records that inner's failure ends outer's state and aborts the rest.
func (t *turn) unwind(inner, outer *thread, prev int64) int64 {
	isMap := t.state(outer).Kind == asl.Map
	if isMap {
		t.record(Event{Type: MapIterationFailed, Prev: prev, State: outer.state, Index: inner.index})
	}

	for _, sibling := range t.children(outer) {
		if sibling == inner {
			continue
		}
		t.abort(sibling, prev)

		if isMap {
			t.record(Event{Type: MapIterationAborted, Prev: prev, State: outer.state, Index: sibling.index})
		}
	}

	event := ParallelStateFailed
	if isMap {
		event = MapStateFailed
	}

	return t.record(Event{Type: event, Prev: prev, State: outer.state})
}

// abort records that a thread, and what it waits for, is given up.
func (t *turn) abort(th *thread, prev int64) {
	for _, child := range t.children(th) {
		t.abort(child, prev)
	}

	e := Event{Prev: prev, State: th.state}
	switch t.state(th).Kind {
	case asl.Task:
		e.Type = TaskStateAborted
	case asl.Wait:
		e.Type = WaitStateAborted
	case asl.Map:
		e.Type = MapStateAborted
	case asl.Parallel:
		e.Type = ParallelStateAborted
	default:
		return
	}
	t.record(e)
}

// retrier returns the index of the entry that grants another attempt, or -1.
// Only the first entry that matches is asked.
func (t *turn) retrier(th *thread, f *failure) int {
	s := t.state(th)
	for i := range s.Retry {
		if !f.matches(s.Retry[i].ErrorEquals) {
			continue
		}

		if i < len(th.attempts) && th.attempts[i] >= s.Retry[i].MaxAttempts || s.Retry[i].MaxAttempts == 0 {
			return -1
		}

		return i
	}

	return -1
}

func (t *turn) catcher(th *thread, f *failure) *asl.Catcher {
	s := t.state(th)
	for i := range s.Catch {
		if f.matches(s.Catch[i].ErrorEquals) {
			return &s.Catch[i]
		}
	}

	return nil
}

// retry lets the state run again after its interval.
func (t *turn) retry(th *thread, i int) {
	r := &t.state(th).Retry[i]
	if th.attempts == nil {
		th.attempts = make([]int64, len(t.state(th).Retry))
	}

	delay := float64(r.IntervalSeconds) * math.Pow(r.BackoffRate, float64(th.attempts[i]))
	if r.MaxDelaySeconds > 0 {
		delay = min(delay, float64(r.MaxDelaySeconds))
	}

	delay = min(delay, maxWait)
	if r.FullJitter {
		delay *= t.env.Random.Float64()
	}

	th.attempts[i]++
	th.retries++
	th.phase, th.wake = backoff, t.now+int64(delay*1000)
	if th.wake <= t.now {
		t.work = append(t.work, item{th, nil, false})
	}
}

// catch leaves the state towards the catcher's target.
func (t *turn) catch(th *thread, c *asl.Catcher, f *failure) {
	raw, err := t.raw(th)
	if err == nil {
		text := rawjson.AppendText([]byte(`{"Error":`), f.name)
		text = append(rawjson.AppendText(append(text, `,"Cause":`...), f.cause), '}')
		var out *Doc
		if out, err = t.place(th, c.ResultPath, raw, &Doc{JSON: text}); err == nil {
			err = t.exit(th, out, c.Next)
		}
	}

	var inner *failure
	switch {
	case err == nil:
	case errors.As(err, &inner):
		inner.name = runtimeError // what a catcher itself breaks is caught by nobody
		t.fail(th, inner)
	default:
		t.err = err
	}
}
