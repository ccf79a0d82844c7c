package execution

import "ratchet/embedded/internal/stepfunctions/asl"

// fail finds the Retry or Catch that handles the failure, from the thread's state outwards. Without a
// handler the execution fails, and its threads stay for a redrive.
func (t *turn) fail(th *thread, f *failure) {
	if t.exhausted {
		return
	}

	t.inspect("error", &Doc{JSON: []byte(f.name)})
	t.inspect("cause", &Doc{JSON: []byte(f.cause)})
	t.inspectHandler(th, f)

	if f.evaluated {
		t.recordEvaluation(th, f)
	}

	// A Map that fails by itself, as by its ItemSelector, may have running iterations. It goes on without
	// them: another attempt, or a redrive, starts all iterations again.
	t.abortChildren(th, nil, th.last)
	t.removeChildren(th)

	handler := th
	for handler != nil && t.findRetrier(handler, f) < 0 && t.findCatcher(handler, f) == nil {
		handler = t.s.thread(handler.parent)
	}

	// Every Parallel and Map between the thread and the handler fails. Their children are
	// removed only if a handler was found: a redrive continues them.
	prev := th.last
	for inner := th; inner != handler && inner.parent != 0; {
		outer := t.s.thread(inner.parent)
		retried := outer == handler && t.findRetrier(outer, f) >= 0
		prev = t.failOuter(inner, outer, prev, retried)
		if handler != nil {
			t.removeChildren(outer)
			outer.last = prev
		}

		inner = outer
	}

	if handler == nil {
		// A redrive runs the state again.
		th.phase = halted
		t.record(Event{Type: ExecutionFailed, Prev: prev, State: -1, Error: f.name, Cause: f.cause})
		t.finish(Failed, f.name, f.cause)

		return
	}

	// A late answer to this attempt must not match the next one.
	handler.token = [TokenSize]byte{}
	if i := t.findRetrier(handler, f); i >= 0 {
		t.retry(handler, i)
		return
	}

	t.catch(handler, t.findCatcher(handler, f), f)
}

// recordEvaluation records that a field in JSONata has failed. If the field belongs to a Map that has not
// started and is not retried, the Map has failed, too. While the state has only been entered, the event
// follows the one before StateEntered, except in a Wait.
// Source: LocalStack's recordings of AWS (test_assign_reference_variables, test_base_scenarios).
func (t *turn) recordEvaluation(th *thread, f *failure) {
	e := Event{Type: EvaluationFailed, State: th.state, Prev: th.last, Worker: f.location, Error: f.name, Cause: f.cause}

	s := t.state(th)
	entered := th.last == th.enteredEvent
	// Events of earlier turns are not in memory here.
	if i := int(th.enteredEvent - t.chunk); entered && s.Kind != asl.Wait && i >= 0 {
		e.Prev = t.events[i].Prev
	}

	th.last = t.record(e)

	if entered && s.Kind == asl.Map && t.findRetrier(th, f) < 0 {
		t.recordOn(th, Event{Type: MapStateFailed})
	}
}

// failOuter records that the failure of the child inner ends the state of its parent
// outer, and aborts the other children. prev is the event that caused it. If the state is
// retried, its own failure is not recorded, and a task that fails in a Parallel is aborted, too,
// both as in AWS's histories.
// Source: LocalStack's recordings of AWS (test_error_output, test_parallel_catch_error, and
// test_callback, test_sqs_failure_in_wait_for_task_tok_no_error_field).
func (t *turn) failOuter(inner, outer *thread, prev int64, retried bool) int64 {
	isMap := t.state(outer).Kind == asl.Map
	if isMap {
		t.record(Event{Type: MapIterationFailed, Prev: prev, State: outer.state, Index: inner.index})
	}

	if !isMap && t.state(inner).Kind == asl.Task {
		t.abort(inner, prev)
	}

	t.abortChildren(outer, inner, prev)

	if retried {
		return prev
	}

	event := ParallelStateFailed
	if isMap {
		event = MapStateFailed
	}

	return t.record(Event{Type: event, Prev: prev, State: outer.state})
}

// abortChildren records that the children of outer end, except for the failed child.
func (t *turn) abortChildren(outer, failed *thread, prev int64) {
	for _, child := range t.children(outer) {
		if child == failed {
			continue
		}

		t.abort(child, prev)

		if t.state(outer).Kind == asl.Map {
			t.record(Event{Type: MapIterationAborted, Prev: prev, State: outer.state, Index: child.index})
		}
	}
}

// abort records that a thread and its children end because of another thread's failure. A state
// that was not entered yet has no such event.
func (t *turn) abort(th *thread, prev int64) {
	for _, child := range t.children(th) {
		t.abort(child, prev)
	}

	if th.phase == ready {
		return
	}

	if th.phase == mapping {
		t.record(Event{Type: MapRunAborted, Prev: prev, State: th.state})
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
