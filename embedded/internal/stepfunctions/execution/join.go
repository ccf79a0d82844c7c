package execution

import (
	"errors"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// childInput computes the input with which a branch or iteration of th starts.
func (t *turn) childInput(th *thread, index int) (*Doc, error) {
	s := t.state(th)
	// The Arguments were evaluated when the Parallel started, and are not evaluated again.
	if s.Kind == asl.Parallel && s.JSONata {
		return t.loadDoc(th.taskInput)
	}

	if s.Kind == asl.Parallel {
		in, err := t.effectiveInput(th)
		if err != nil {
			return nil, err
		}

		return t.applyPayload(th, s.Parameters, in)
	}

	in, items, err := t.mapInput(th)
	if err != nil {
		return nil, err
	}

	return t.iterationInput(th, s, in, items, index)
}

// endChild ends a branch or iteration and, when it was the last one, its parent's state.
func (t *turn) endChild(child *thread, out *Doc) error {
	parent := t.s.thread(child.parent)
	s := t.state(parent)
	parent.results[child.index] = out.Ref
	parent.running--

	// The next iteration of a Map follows this event, and not MapIterationSucceeded.
	ended := child.last
	last := ended
	t.remove(child)

	if s.Kind == asl.Map {
		last = t.record(Event{Type: MapIterationSucceeded, Prev: last, State: parent.state, Index: child.index})
	}

	var err error
	switch {
	case parent.next < len(parent.results):
		err = t.continueMap(parent, s, ended)
	case parent.running == 0:
		err = t.completeJoin(parent, last)
	}

	// A failure here belongs to the parent. The caller would take it for the child's.
	var f *failure
	if errors.As(err, &f) {
		t.fail(parent, f)
		return nil
	}

	return err
}

// completeJoin completes a Parallel or Map with the array of its children's outputs. last
// is the event that ended the last child.
func (t *turn) completeJoin(th *thread, last int64) error {
	// The outputs may be in the history of earlier turns.
	out := []byte{'['}
	for i, ref := range th.results {
		v, err := t.document(ref)
		if err != nil {
			return err
		}

		if i > 0 {
			out = append(out, ',')
		}

		out = append(out, v...)
	}

	result, err := t.checkSize(th, append(out, ']'))
	if err != nil {
		return err
	}

	raw, err := t.rawInput(th)
	if err != nil {
		return err
	}

	th.last = last
	event := ParallelStateSucceeded
	if t.state(th).Kind == asl.Map {
		event = MapStateSucceeded
	}

	t.recordOn(th, Event{Type: event})
	// StateExited names the same previous event as the event before it does, as in AWS's histories.
	th.last = last

	return t.complete(th, raw, result)
}
