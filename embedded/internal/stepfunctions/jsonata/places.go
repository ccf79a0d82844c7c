package jsonata

import (
	"errors"
	"time"
)

// maxRunning is the number of evaluations that run at a time in the process. An evaluation whose caller
// has given up keeps its slot until it ends, so that the number of such evaluations is bounded, too.
const maxRunning = 4

// maxQueued is how long an evaluation waits for a slot.
const maxQueued = time.Minute

var places = make(chan struct{}, maxRunning)

var errBusy = errors.New("too many evaluations are running in this process")

// begin waits for a slot, at most for longest, and sets the deadline. The time of the wait does not count.
func (s *Scope) begin(longest time.Duration) error {
	// The usual case needs no timer.
	select {
	case places <- struct{}{}:
		if s.deadline.IsZero() {
			s.deadline = time.Now().Add(maxTime)
		}

		return nil
	default:
	}

	began := time.Now()
	alarm := time.NewTimer(longest)
	defer alarm.Stop()

	select {
	case places <- struct{}{}:
	case <-alarm.C:
		return errBusy
	}

	now := time.Now()
	if s.deadline.IsZero() {
		s.deadline = now.Add(maxTime)
	} else {
		// A later expression of the same field: its wait does not use up the field's time.
		s.deadline = s.deadline.Add(now.Sub(began))
	}

	return nil
}

// release frees the slot of an evaluation.
func release() { <-places }
