package waiting

import (
	"sync"

	"ratchet/embedded/internal/ordered"
	"ratchet/embedded/internal/stepfunctions/keys"
)

// Timers holds the time at which each execution next needs a tick. A waiting execution
// costs one entry and no goroutine.
type Timers struct {
	mu  sync.Mutex
	due ordered.Keys[keys.Execution]

	// Wake receives a value when the earliest time has changed.
	Wake chan struct{}
}

// NewTimers returns no timers.
func NewTimers() *Timers {
	// Room for one: a second signal would say nothing more.
	return &Timers{Wake: make(chan struct{}, 1)}
}

// Set sets the time, in milliseconds, at which the execution needs a tick; 0 means never.
func (t *Timers) Set(key keys.Execution, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if at == 0 {
		t.due.Remove(key)
		return
	}

	t.due.Set(key, at)

	// runTimers sleeps until the earliest time, so only a new earliest time must wake it.
	if first, _, _ := t.due.Min(); first == key {
		select {
		case t.Wake <- struct{}{}:
		default:
		}
	}
}

// Len returns the number of executions that wait for a tick.
func (t *Timers) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()

	return t.due.Len()
}

// Pop removes and returns up to most executions that are due, and the time of the next one
// (0 for none).
func (t *Timers) Pop(now int64, most int) (fired []keys.Execution, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()

	for {
		key, at, ok := t.due.Min()
		if !ok {
			return fired, 0
		}

		if at > now || len(fired) == most {
			return fired, at
		}

		t.due.Remove(key)
		fired = append(fired, key)
	}
}
