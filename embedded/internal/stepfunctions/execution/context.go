package execution

import (
	"strconv"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// context returns the context object ($$) of a thread. Inside a Map it has the item of the
// innermost iteration.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/input-output-contextobject.html
func (t *turn) context(th *thread) []byte {
	// The innermost Map around the thread. A Parallel between them has no item.
	for inner := th; inner.parent != 0; {
		outer := t.s.thread(inner.parent)
		if t.state(outer).Kind == asl.Map {
			return t.contextWith(th, &item{index: inner.index, value: t.mapItem(outer, inner.index)})
		}

		inner = outer
	}

	// A test of such a state without a context of its own sees its input as the first item.
	// Source: https://docs.aws.amazon.com/step-functions/latest/dg/test-state-isolation.html
	if t.env.Inspect != nil && t.env.Context == nil && t.state(th).Iterated {
		return t.contextWith(th, &item{value: t.input()})
	}

	return t.contextWith(th, nil)
}

// input returns the input of the execution.
func (t *turn) input() []byte {
	input, err := t.document(Ref{Chunk: 1, ID: 1}) // ExecutionStarted
	if err == nil {
		return input
	}

	// An expression cannot fail with an error of the engine, so the
	// error waits in the turn, which ends with it.
	if t.err == nil {
		t.err = err
	}

	return []byte("null")
}

// contextWith returns the context object with the item of a Map, or without one when i is nil.
func (t *turn) contextWith(th *thread, i *item) []byte {
	// A test has given the context object. Only the item may be missing in it.
	if t.env.Context != nil {
		if i == nil {
			return t.env.Context
		}

		return rawjson.Merge(t.env.Context, append(i.appendTo([]byte(`{"Map":`)), '}'))
	}

	input, id := t.input(), t.env.Identity()
	b := make([]byte, 0, 512+len(input))
	text := func(before, s string) { b = rawjson.AppendText(append(b, before...), s) }
	text(`{"Execution":{"Id":`, id.ARN)
	b = append(append(b, `,"Input":`...), input...)
	text(`,"StartTime":`, stamp(t.s.Started))
	text(`,"Name":`, t.s.Name)

	// Source: LocalStack's recordings of AWS (test_state_with_variables): a test without a role.
	if b = append(b, `,"RoleArn":`...); id.RoleARN == "" {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendText(b, id.RoleARN)
	}

	if !id.NoRedrives {
		b = strconv.AppendInt(append(b, `,"RedriveCount":`...), int64(t.s.Redrives), 10)
	}

	if t.s.Redrives > 0 {
		text(`,"RedriveTime":`, stamp(t.s.Redriven))
	}
	text(`},"StateMachine":{"Id":`, id.MachineARN)
	text(`,"Name":`, id.MachineName)
	text(`},"State":{"Name":`, t.state(th).Name)
	text(`,"EnteredTime":`, stamp(th.entered))

	// Only these kinds can have a Retry.
	if kind := t.state(th).Kind; kind == asl.Task || kind == asl.Parallel || kind == asl.Map {
		b = strconv.AppendInt(append(b, `,"RetryCount":`...), th.retries, 10)
	}

	b = append(b, '}')
	// The token is in the context object of callbacks and .sync only, and while it can be answered.
	if s := t.state(th); s.Integration != nil && (s.Integration.Callback || s.Integration.Sync) && th.phase.hasToken() {
		text(`,"Task":{"Token":`, t.env.Token(th.id, th.token))
		b = append(b, '}')
	}

	if i != nil {
		b = i.appendTo(append(b, `,"Map":`...))
	}

	return append(b, '}')
}

// appendTo appends the member Map of a context object.
func (i *item) appendTo(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"Item":{"Index":`...), int64(i.index), 10)
	if i.key != nil {
		b = append(append(b, `,"Key":`...), i.key...)
	}

	return append(append(append(b, `,"Value":`...), i.value...), "}}"...)
}
