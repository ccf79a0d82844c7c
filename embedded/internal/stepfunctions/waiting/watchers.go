package waiting

import (
	"sync"

	"ratchet/embedded/internal/stepfunctions/keys"
)

// Watchers are the tasks that wait for the end of executions. They are an index in memory: at a start the
// waiting tasks of all running executions are added again.
type Watchers struct {
	mu sync.Mutex
	// tasks has the waiting tasks and their order, by the execution for which
	// they wait. watched has that execution by task.
	tasks   map[keys.Execution]map[Task]int64
	watched map[Task]keys.Execution
}

// NewWatchers returns an empty index.
func NewWatchers() *Watchers {
	return &Watchers{tasks: map[keys.Execution]map[Task]int64{}, watched: map[Task]keys.Execution{}}
}

// Add lets a task wait for an execution. The caller holds the execution's lock.
func (w *Watchers) Add(key keys.Execution, t Placed) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.tasks[key] == nil {
		w.tasks[key] = map[Task]int64{}
	}

	w.tasks[key][t.Task], w.watched[t.Task] = t.Order, key
}

// Remove removes a task that is over.
func (w *Watchers) Remove(t Task) {
	w.mu.Lock()
	defer w.mu.Unlock()

	key, ok := w.watched[t]
	if !ok {
		return
	}

	delete(w.watched, t)
	delete(w.tasks[key], t)

	if len(w.tasks[key]) == 0 {
		delete(w.tasks, key)
	}
}

// Ended removes and returns the tasks that wait for an execution that has
// just ended. The caller holds the execution's lock.
func (w *Watchers) Ended(key keys.Execution) (all []Placed) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for t, order := range w.tasks[key] {
		all = append(all, Placed{t, order})
		delete(w.watched, t)
	}

	delete(w.tasks, key)

	return all
}
