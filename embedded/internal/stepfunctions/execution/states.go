package execution

import (
	"fmt"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// enter records that the thread has come to its state and executes it.
func (t *turn) enter(th *thread, raw *Doc) error {
	th.attempts, th.retries, th.entered = nil, 0, t.now
	t.on(th, Event{Type: StateEntered, Doc: raw})

	if t.exhausted {
		return nil
	}
	th.enteredEvent, th.input = th.last, raw.Ref

	return t.execute(th, raw)
}

// execute runs the state that the thread has entered up to where it must wait.
func (t *turn) execute(th *thread, raw *Doc) error {
	th.wake = 0
	s := t.state(th)
	if s.Kind == asl.Fail {
		return t.failState(th, s, raw)
	}

	in, err := t.pick(th, s.InputPath, raw)
	if err != nil {
		return err
	}

	switch s.Kind {
	case asl.Task:
		return t.schedule(th, s, in)
	case asl.Pass:
		return t.pass(th, s, raw, in)
	case asl.Choice:
		return t.choose(th, s, in)
	case asl.Wait:
		return t.wait(th, s, in)
	case asl.Parallel:
		return t.fork(th, s, in)
	case asl.Map:
		return t.mapOut(th, s, in)
	default: // Succeed
		return t.leave(th, s, in, nil)
	}
}

// pick applies InputPath, OutputPath or ItemsPath.
func (t *turn) pick(th *thread, f asl.PathField, doc *Doc) (*Doc, error) {
	switch {
	case f.Null:
		return &Doc{JSON: []byte("{}")}, nil
	case f.Path == nil:
		return doc, nil
	}

	v, err := f.Path.Evaluate(t.scope(th, doc.JSON))
	if err != nil {
		return nil, t.fault(th, "Invalid path '%s': nothing matches in the input.", f.Path)
	}

	return &Doc{JSON: v}, nil
}

// fill evaluates a template; without one the document goes through.
func (t *turn) fill(th *thread, template *jsonpath.Template, doc *Doc) (*Doc, error) {
	if template == nil {
		return doc, nil
	}

	v, err := template.Evaluate(t.scope(th, doc.JSON))
	if err != nil {
		return nil, t.templateFault(th, doc, err)
	}

	return t.bounded(th, v)
}

// bounded refuses documents over the service's limit.
func (t *turn) bounded(th *thread, v []byte) (*Doc, error) {
	if len(v) > MaxDocument {
		return nil, &failure{name: dataLimitError, cause: fmt.Sprintf(
			"The state/task '%s' returned a result with a size exceeding the maximum number of bytes service limit.", t.state(th).Name)}
	}

	return &Doc{JSON: v}, nil
}

// complete takes a state's result through ResultSelector, ResultPath and
// OutputPath, and leaves the state.
func (t *turn) complete(th *thread, raw, result *Doc) error {
	s := t.state(th)

	result, err := t.fill(th, s.ResultSelector, result)
	if err != nil {
		return err
	}

	out, err := t.place(th, s.ResultPath, raw, result)
	if err != nil {
		return err
	}

	return t.leave(th, s, out, s.Next)
}

// place applies ResultPath.
func (t *turn) place(th *thread, f asl.ResultField, raw, result *Doc) (*Doc, error) {
	switch {
	case f.Null:
		return raw, nil
	case f.Path == nil:
		return result, nil
	}

	v, err := f.Path.Put(raw.JSON, result.JSON)
	if err != nil {
		return nil, &failure{name: "States.ResultPathMatchFailure", cause: fmt.Sprintf(
			"Unable to apply ResultPath '%s' of the state '%s' to its input", f.Path, t.state(th).Name)}
	}

	return t.bounded(th, v)
}

// leave applies OutputPath and moves on to next, or ends the thread.
func (t *turn) leave(th *thread, s *asl.State, out *Doc, next *asl.State) error {
	out, err := t.pick(th, s.OutputPath, out)
	if err != nil {
		return err
	}

	return t.exit(th, out, next)
}

func (t *turn) exit(th *thread, out *Doc, next *asl.State) error {
	t.on(th, Event{Type: StateExited, Doc: out})

	if t.exhausted {
		return nil
	}

	th.next, th.running, th.results = 0, 0, nil
	if next != nil {
		th.state, th.phase, th.input = next.Ordinal, ready, out.Ref
		t.work = append(t.work, item{th, out, true})
		return nil
	}

	if th.parent != 0 {
		return t.join(th, out)
	}
	t.record(Event{Type: ExecutionSucceeded, Prev: th.last, State: -1, Doc: out})
	t.s.Output = out.Ref
	t.finish(Succeeded, "", "")

	return nil
}

func (t *turn) pass(th *thread, s *asl.State, raw, in *Doc) error {
	result, err := t.fill(th, s.Parameters, in)
	if err != nil {
		return err
	}

	if s.Result != nil {
		result = &Doc{JSON: s.Result}
	}

	return t.complete(th, raw, result)
}

func (t *turn) choose(th *thread, s *asl.State, in *Doc) error {
	scope := t.scope(th, in.JSON)
	for i := range s.Choices {
		holds, err := s.Choices[i].Condition.Holds(scope)
		if err != nil {
			return t.fault(th, "%v: The choice state's condition path references an invalid value.", err)
		}

		if holds {
			return t.leave(th, s, in, s.Choices[i].Next)
		}
	}

	if s.Default != nil {
		return t.leave(th, s, in, s.Default)
	}

	return &failure{name: "States.NoChoiceMatched", cause: fmt.Sprintf("Failed to transition out of the state '%s'. "+
		"The state does not point to a next state.", s.Name)}
}

func (t *turn) failState(th *thread, s *asl.State, raw *Doc) error {
	f := &failure{}
	for _, field := range []struct {
		from asl.TextField
		to   *string
	}{
		{from: s.Error, to: &f.name},
		{from: s.Cause, to: &f.cause}} {
		*field.to = field.from.Value
		if field.from.Expression == nil {
			continue
		}

		v, err := field.from.Expression.Evaluate(t.scope(th, raw.JSON))
		if err != nil {
			return t.templateFault(th, raw, err)
		}

		text, ok := rawjson.Text(v)
		if !ok {
			return t.fault(th, "ErrorPath and CausePath must lead to a string.")
		}
		*field.to = text
	}

	return f
}

func (t *turn) wait(th *thread, s *asl.State, in *Doc) error {
	until := t.now
	if s.Seconds.Set {
		n, err := t.seconds(th, s.Seconds, in, 0)
		if err != nil {
			return err
		}
		until += n * 1000
	} else {
		text := s.Timestamp.Value
		if s.Timestamp.Path != nil {
			v, err := s.Timestamp.Path.Evaluate(t.scope(th, in.JSON))
			if err != nil {
				return t.fault(th, "Invalid path '%s': nothing matches in the input.", s.Timestamp.Path)
			}
			text, _ = rawjson.Text(v)
		}

		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return t.fault(th, "TimestampPath must lead to an RFC 3339 timestamp.")
		}
		until = at.UnixMilli()
	}

	if until <= t.now {
		return t.leave(th, s, in, s.Next)
	}
	th.phase, th.wake = waiting, until

	return nil
}

// waited leaves a Wait state whose time has come.
func (t *turn) waited(th *thread) error {
	s := t.state(th)

	raw, err := t.raw(th)
	if err != nil {
		return err
	}

	in, err := t.pick(th, s.InputPath, raw)
	if err != nil {
		return err
	}

	return t.leave(th, s, in, s.Next)
}

// maxWait is the largest number of seconds that the language allows.
const maxWait = 99_999_999

func (t *turn) seconds(th *thread, f asl.Seconds, in *Doc, least int64) (int64, error) {
	if f.Path == nil {
		return f.Value, nil
	}

	v, err := f.Path.Evaluate(t.scope(th, in.JSON))
	if err != nil {
		return 0, t.fault(th, "Invalid path '%s': nothing matches in the input.", f.Path)
	}

	n, ok := rawjson.Int(v)
	if !ok || n < least || n > maxWait {
		return 0, t.fault(th, "The path '%s' must lead to an integer from %d to %d.", f.Path, least, maxWait)
	}

	return n, nil
}

// schedule puts a task into the queue of its activity.
func (t *turn) schedule(th *thread, s *asl.State, in *Doc) (err error) {
	input, err := t.fill(th, s.Parameters, in)
	if err != nil {
		return err
	}

	if th.timeout, err = t.seconds(th, s.Timeout, in, 1); err != nil {
		return err
	}

	if th.heartbeat, err = t.seconds(th, s.Heartbeat, in, 1); err != nil {
		return err
	}

	if !t.env.ActivityExists(s.Resource) {
		return t.fault(th, "The activity %s does not exist.", s.Resource)
	}
	t.on(th, Event{Type: ActivityScheduled, Doc: input, Timeout: th.timeout, Heartbeat: th.heartbeat})
	th.phase, th.taskInput, th.queue = scheduled, input.Ref, t.env.Sequence()
	th.attempt++
	th.timeoutAt, th.heartbeatAt = 0, 0

	return nil
}
