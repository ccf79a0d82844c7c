package execution

import "ratchet/embedded/internal/stepfunctions/asl"

// scheduleTask puts a task into the queue of its activity, or into that of the calls which
// the engine makes.
func (t *turn) scheduleTask(th *thread, s *asl.State, in *Doc) (err error) {
	if s.Integration != nil {
		return t.scheduleCall(th, s, in)
	}

	input, err := t.applyTemplate(th, s.Parameters, in)
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
		return t.runtimeFailure(th, "The activity %s does not exist.", s.Resource)
	}

	t.recordOn(th, Event{Type: ActivityScheduled, Doc: input, Timeout: th.timeout, Heartbeat: th.heartbeat})

	th.phase, th.taskInput, th.queue = scheduled, input.Ref, t.env.Sequence()
	th.attempt++
	th.timeoutAt, th.heartbeatAt = 0, 0

	return nil
}
