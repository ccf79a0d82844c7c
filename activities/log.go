package activities

import (
	"sync"
	"time"
)

// progressEvery is the time between two reports of a drain.
const progressEvery = 5 * time.Second

// logStart logs the activities that the worker serves. The caller holds the lock.
func (w *Worker) logStart() {
	names := make([]string, len(w.cfg.Activities))
	slots, polls := 0, 0

	for i, a := range w.cfg.Activities {
		names[i] = a.Name
		slots += a.Slots
		polls += a.Pollers
	}

	w.cfg.Log.Info("worker serves activities",
		"worker", w.cfg.WorkerName,
		"activities", names,
		"slots", slots,
		"polls", polls)
}

// reportDrain logs the tasks and polls that a drain waits for, at once and then every 5 s, until the
// returned function is called.
func (w *Worker) reportDrain() (end func()) {
	began := time.Now()
	w.logDrain("worker stops; waiting for what is in flight", began)

	done := make(chan struct{})

	var reporter sync.WaitGroup
	reporter.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()

		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				w.logDrain("worker still waits", began)
			}
		}
	})

	return func() {
		close(done)
		reporter.Wait()
		w.logDrain("worker stopped", began)
	}
}

func (w *Worker) logDrain(text string, began time.Time) {
	w.mu.Lock()
	tasks, forced, pollers := len(w.tasks), w.forced, w.pollers
	w.mu.Unlock()

	// Not under the worker's lock: a poller keeps its own lock while it writes a log line, and the
	// worker must not wait for that.
	open := 0
	for _, p := range pollers {
		open += p.openPolls()
	}

	w.cfg.Log.Info(text,
		"worker", w.cfg.WorkerName,
		"tasks", tasks,
		"polls", open,
		"given_back", forced,
		"after", time.Since(began).Round(time.Millisecond))
}
