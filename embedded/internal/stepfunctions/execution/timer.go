package execution

import (
	"cmp"
	"slices"
)

// NextTimer returns when the execution next needs a Tick, or 0.
func (s *State) NextTimer() int64 {
	if s.Status != Running {
		return 0
	}

	next := s.Deadline
	for _, t := range s.threads {
		if due := t.due(); due != 0 && (next == 0 || due < next) {
			next = due
		}
	}

	return next
}

// due returns when the thread's timer is due, or 0 when it has none.
func (t *thread) due() int64 {
	switch t.phase {
	case started, calling, watching:
		if t.heartbeatAt != 0 && (t.timeoutAt == 0 || t.heartbeatAt < t.timeoutAt) {
			return t.heartbeatAt
		}

		return t.timeoutAt
	case ready, waiting, backoff:
		return t.wake
	default:
		return 0
	}
}

// expire applies the timers that are due, the oldest first. The deadline of the
// execution comes before the timers of its threads.
func (t *turn) expire() {
	s := t.s
	if s.Status != Running {
		return
	}

	if s.Deadline != 0 && t.now >= s.Deadline {
		t.stop(TimedOut, Event{Type: ExecutionTimedOut, State: -1})
		return
	}

	var due []*thread
	for _, th := range s.threads {
		if at := th.due(); at != 0 && at <= t.now {
			due = append(due, th)
		}
	}

	// Stable, so that timers of the same time fire in the order of the threads.
	slices.SortStableFunc(due, func(a, b *thread) int { return cmp.Compare(a.due(), b.due()) })

	for _, th := range due {
		// An earlier timer may have ended the execution or removed the thread.
		if s.Status != Running || s.thread(th.id) == nil {
			continue
		}

		switch th.phase {
		case started, calling, watching:
			t.recordStarted(th)

			// This is computed before recordOn and fail, which change the thread.
			heartbeat := th.heartbeatAt != 0 && th.heartbeatAt == th.due()
			t.recordOn(th, Event{Type: t.taskEvents(th).timedOut, Error: timeoutError})
			t.fail(th, &failure{name: timeoutError, heartbeat: heartbeat})
		case waiting:
			th.wake = 0
			t.try(th, func() error { return t.finishWait(th) })
		default:
			// The attempt after a retry, or the entry that a large turn has put off: end runs it.
			t.work = append(t.work, workItem{th: th, enter: th.phase == ready})
			th.wake = 0
		}
	}
}
