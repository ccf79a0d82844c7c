package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ratchet/activities"
	"ratchet/internal/plural"
)

// stuckAfter is how far a handler of a task may exceed its limit before the process is not ready.
const stuckAfter = time.Minute

// taskHealth has the tasks whose handlers run. It has at most twice as many entries as the worker has
// slots, because the worker bounds the number of handlers that run on after their tasks have ended.
type taskHealth struct {
	mu      sync.Mutex
	limits  map[string]time.Duration // by activity; 0: none
	running map[activities.Token]runningTask
}

type runningTask struct {
	activity string
	since    time.Time
}

// limit says how long a handler of the activity may take.
func (h *taskHealth) limit(activity string, limit time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.limits == nil {
		h.limits = map[string]time.Duration{}
	}
	h.limits[activity] = limit
}

// middleware notes the calls of a handler. It notes calls and not tasks, because a handler may ignore
// the time-out of its task and run on.
func (h *taskHealth) middleware(next activities.HandlerFunc) activities.HandlerFunc {
	return func(ctx context.Context, t activities.Task) (any, error) {
		h.started(t)
		defer h.ended(t)

		return next(ctx, t)
	}
}

func (h *taskHealth) started(t activities.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.running == nil {
		h.running = map[activities.Token]runningTask{}
	}
	h.running[t.Token] = runningTask{activity: t.Activity, since: time.Now()}
}

func (h *taskHealth) ended(t activities.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()

	delete(h.running, t.Token)
}

// check fails if a handler has run for longer than its limit and stuckAfter.
func (h *taskHealth) check(now time.Time) HealthCheck {
	const name = "tasks"

	h.mu.Lock()
	defer h.mu.Unlock()

	stuck, oldest, activity := 0, time.Duration(0), ""

	for _, task := range h.running {
		limit := h.limits[task.activity]
		age := now.Sub(task.since)

		// Without a limit no duration proves that a handler hangs.
		if limit == 0 || age <= limit+stuckAfter {
			continue
		}

		stuck++

		if age > oldest {
			oldest, activity = age, task.activity
		}
	}

	if stuck == 0 {
		return ok(name)
	}

	return failed(name, fmt.Sprintf("stuck: %s; the oldest, of %s, has run for %s, and may run for %s", plural.Of(stuck, "task"), activity, oldest.Round(time.Second), h.limits[activity]),
		"restart the process (Step Functions gives its tasks to another); /debug/pprof/goroutine?debug=2 on a loopback listener shows where they hang")
}
