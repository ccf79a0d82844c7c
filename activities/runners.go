package activities

import "time"

// runnerIdle is how long a goroutine waits for its next task.
const runnerIdle = time.Second

// run runs a task on a goroutine that has finished another task, or on a new goroutine. The calls of
// the SDK need a deep stack, which a new goroutine would have to grow first.
func (w *Worker) run(t *inFlight) {
	select {
	// The channel has no buffer, so the send succeeds only if a runner waits: a task never waits for a
	// runner.
	case w.runners <- t:
	default:
		go w.runner(t)
	}
}

// runner runs tasks until it has waited runnerIdle for the next one. So the number of runners follows
// the number of tasks in flight and of handlers that are stuck.
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
