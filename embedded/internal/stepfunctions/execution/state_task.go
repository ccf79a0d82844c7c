package execution

import "ratchet/embedded/internal/stepfunctions/asl"

// scheduleTask puts a task into the queue of its activity, or into a
// queue of the calls that the engine makes.
func (t *turn) scheduleTask(th *thread, s *asl.State, in *Doc) error {
	if s.Integration != nil {
		return t.scheduleCall(th, s, in)
	}

	input, err := t.taskInput(th, s, in)
	if err != nil {
		return err
	}

	// Checked now, because the activity may have been created or
	// deleted since the definition was accepted.
	if !t.env.ActivityExists(s.Resource) {
		return t.runtimeFailure(th, "The activity %s does not exist.", s.Resource)
	}

	t.enqueue(th, scheduled, Event{Type: ActivityScheduled, Doc: input})

	return nil
}

// taskInput returns the input of a task, and sets the thread's time limits.
func (t *turn) taskInput(th *thread, s *asl.State, in *Doc) (input *Doc, err error) {
	if input, err = t.applyPayload(th, s.Parameters, in); err != nil {
		return nil, err
	}

	if s.JSONata {
		t.inspect("afterArguments", input)
	} else {
		t.inspect("afterParameters", input)
	}

	if th.timeout, err = t.limit(th, "TimeoutSeconds", s.Timeout, in); err != nil {
		return nil, err
	}

	th.heartbeat, err = t.limit(th, "HeartbeatSeconds", s.Heartbeat, in)

	return input, err
}

// enqueue records that a task is scheduled and lets it wait in its queue.
func (t *turn) enqueue(th *thread, p phase, e Event) {
	e.Timeout, e.Heartbeat = th.timeout, th.heartbeat
	t.recordOn(th, e)

	th.phase, th.taskInput, th.queue = p, e.Doc.Ref, t.env.Sequence()
	// An answer to an earlier attempt does not match any more.
	th.attempt++
	// For an activity they count from its start, see StartTask.
	th.timeoutAt, th.heartbeatAt = 0, 0
}
