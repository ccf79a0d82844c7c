package execution

import (
	"slices"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// enter records that the thread enters its state, and executes the state.
func (t *turn) enter(th *thread, raw *Doc) error {
	th.attempts, th.retries, th.entered, th.run = nil, 0, t.now, 0
	// A test says how often each retrier has retried before.
	if n := t.env.Retries; n > 0 {
		th.attempts = slices.Repeat([]int64{n}, len(t.state(th).Retry))
	}

	t.recordOn(th, Event{Type: StateEntered, Doc: raw})

	if t.exhausted {
		return nil
	}

	th.enteredEvent, th.input = th.last, raw.Ref

	return t.execute(th, raw)
}

// effectiveInput computes once more the input of the state that the thread is in, as its InputPath selects
// it: when a state goes on, only its raw input is stored.
func (t *turn) effectiveInput(th *thread) (*Doc, error) {
	raw, err := t.rawInput(th)
	if err != nil {
		return nil, err
	}

	return t.selectPath(th, t.state(th).InputPath, raw)
}

// execute runs the state that the thread has entered, up to its end or to its wait for an
// outside event. A retry comes here too, without entering again.
func (t *turn) execute(th *thread, raw *Doc) error {
	th.wake = 0
	s := t.state(th)
	t.inspect("input", raw)

	if s.JSONata {
		return t.executeQuery(th, s, raw)
	}

	// A Fail has no InputPath.
	if s.Kind == asl.Fail {
		t.inspect("afterInputPath", raw)
		return t.failState(th, s, raw)
	}

	in, err := t.selectPath(th, s.InputPath, raw)
	if err != nil {
		return err
	}

	// AWS leaves it out for a Parallel: test_io_parallel_state_mock_success.
	if s.Kind != asl.Parallel {
		t.inspect("afterInputPath", in)
	}

	switch s.Kind {
	case asl.Pass:
		return t.pass(th, s, raw, in)
	case asl.Succeed:
		return t.leave(th, s, in, nil, nil)
	default:
		return t.executeKind(th, s, in)
	}
}

// executeQuery runs a state in JSONata. Its fields see its input unchanged.
func (t *turn) executeQuery(th *thread, s *asl.State, raw *Doc) error {
	switch s.Kind {
	case asl.Pass, asl.Succeed:
		return t.completeQuery(th, raw, nil, s.Next)
	case asl.Fail:
		return t.failState(th, s, raw)
	default:
		return t.executeKind(th, s, raw)
	}
}

// executeKind runs a state of a kind that works the same in both query
// languages. in is the input for its fields.
func (t *turn) executeKind(th *thread, s *asl.State, in *Doc) error {
	mocked := t.env.Mock != nil
	switch {
	case mocked && s.Kind == asl.Parallel:
		return t.mockParallel(th, s, in)
	case mocked && s.Kind == asl.Map:
		return t.mockMap(th, s, in)
	}

	switch s.Kind {
	case asl.Task:
		return t.scheduleTask(th, s, in)
	case asl.Choice:
		return t.choose(th, s, in)
	case asl.Wait:
		return t.wait(th, s, in)
	case asl.Parallel:
		return t.startParallel(th, s, in)
	default: // Map
		if s.Distributed != nil {
			return t.startMapRun(th, s, in)
		}

		return t.startMap(th, s, in)
	}
}
