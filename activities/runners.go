package activities

import "time"

// runnerIdle is how long a goroutine waits for its next task.
const runnerIdle = time.Second

// run runs a task on a goroutine that has finished another one, or on a new one. The
// calls of the SDK need a deep stack, which a new goroutine would have to grow first.
func (w *Worker) run(t *inFlight) {
	select {
	// Unbuffered: the send succeeds only when a runner waits, so a task never waits for one.
	case w.runners <- t:
	default:
		go w.runner(t)
	}
}

// runner runs tasks until there are none for a while. There are never more runners than
// tasks that were in flight at one time.
func (w *Worker) runner(t *inFlight) {
	var calls timeLimit
	defer calls.close()
	t.work(&calls)

	timer := time.NewTimer(runnerIdle)
	defer timer.Stop()

	for {
		select {
		case t := <-w.runners:
			t.work(&calls)
			timer.Reset(runnerIdle)
		case <-timer.C:
			return
		case <-w.answers.Done():
			return
		}
	}
}
