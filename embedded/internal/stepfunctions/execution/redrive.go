package execution

import "time"

// NotRedrivable returns why Redrive would fail, or "" when the execution can be redriven.
func (s *State) NotRedrivable(now time.Time) string {
	switch {
	case s.Status == Running:
		return "Execution is RUNNING and cannot be redriven"
	case s.Status == Succeeded:
		return "Execution is SUCCEEDED and cannot be redriven"
	case now.UnixMilli()-s.Stopped > redriveWindow.Milliseconds():
		return "Execution has exceeded its 14 day redrivable period and cannot be redriven"
	case s.LastEvent >= maxEvents-1:
		return "Execution has exceeded its event limit and cannot be redriven"
	case s.Redrives >= maxRedrives:
		return "Execution has reached the limit of redrives and cannot be redriven"
	}

	return ""
}

// Redrive continues an ended execution from where it failed, was stopped or timed out.
// States that have succeeded do not run again. It fails with a *NotRedrivableError.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html
func (e *Env) Redrive(s *State) (*Turn, error) {
	if reason := s.NotRedrivable(e.Now); reason != "" {
		return nil, &NotRedrivableError{reason}
	}

	t := e.revive(s)

	for _, th := range s.threads {
		switch {
		case th.phase == halted && th.run != 0:
			t.redriveRun(th)
		case th.phase == halted: // execute the state again, with all its retries
			th.attempts, th.retries = nil, 0
			t.work = append(t.work, workItem{th: th})
		case th.phase == ready: // it had not entered its state yet
			t.work = append(t.work, workItem{th: th, enter: true})
		default: // a Parallel or Map, whose children continue
		}
	}

	return t.end()
}

// Rerun runs an ended execution again from its first state. This is how Express executions, which have no
// history, are redriven. It fails as Redrive does.
func (e *Env) Rerun(s *State) (*Turn, error) {
	if reason := s.NotRedrivable(e.Now); reason != "" {
		return nil, &NotRedrivableError{reason}
	}

	t := e.revive(s)

	input, err := t.loadDoc(Ref{Chunk: 1, ID: 1})
	if err != nil {
		return nil, err
	}

	// Nothing of the first run is left but its history.
	s.threads = nil
	t.work = append(t.work, workItem{th: t.spawn(nil, 0, e.Machine.Flow.Start), doc: input, enter: true})

	return t.end()
}

// revive begins the turn that redrives an ended execution.
func (e *Env) revive(s *State) *turn {
	t := e.turn(s)
	s.Status, s.Stopped, s.Error, s.Cause = Running, 0, "", ""
	s.Redrives, s.Redriven = s.Redrives+1, t.now
	// The time limit counts from the redrive.
	s.Deadline = e.deadline(t.now)

	t.record(Event{Type: ExecutionRedriven, State: -1, Index: s.Redrives})

	return t
}
