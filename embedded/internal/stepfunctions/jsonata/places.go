package jsonata

import (
	"time"

	"ratchet/embedded/internal/stepfunctions/places"
)

// maxRunning is the number of evaluations that run at a time in the process. An evaluation whose caller
// has given up keeps its place until it ends, so that the number of such evaluations is bounded, too.
const maxRunning = 4

var running = places.New(maxRunning)

// begin waits for a place, at most for longest, and sets the deadline. The time of the wait does not count.
func (s *Scope) begin(longest time.Duration) error {
	waited, err := running.Take(s.life(), longest)
	if err != nil {
		return err
	}

	if s.deadline.IsZero() {
		s.deadline = time.Now().Add(maxTime)
	} else {
		// A later expression of the same field: its wait does not use up the field's time.
		s.deadline = s.deadline.Add(waited)
	}

	return nil
}
