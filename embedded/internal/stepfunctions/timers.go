package stepfunctions

import (
	"sync"

	"ratchet/embedded/internal/ordered"
	"ratchet/embedded/internal/stepfunctions/keys"
)

// timers holds the time at which each execution next needs a tick. A waiting execution
// costs one entry and no goroutine.
type timers struct {
	mu   sync.Mutex
	due  ordered.Keys[keys.Execution]
	wake chan struct{} // receives a value when the earliest time has changed
}

// set sets the time, in milliseconds, at which the execution needs a tick; 0 means never.
func (t *timers) set(key keys.Execution, at int64) {
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
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// pop removes and returns up to most executions that are due, and the time of the next one
// (0 for none).
func (t *timers) pop(now int64, most int) (due []keys.Execution, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()

	for {
		key, at, ok := t.due.Min()
		if !ok {
			return due, 0
		}

		if at > now || len(due) == most {
			return due, at
		}

		t.due.Remove(key)
		due = append(due, key)
	}
}
