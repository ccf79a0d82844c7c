package worker

import (
	"sync"
	"time"
)

// logInterval is the shortest time between two messages of one LogThrottle.
const logInterval = time.Minute

// LogThrottle limits how often a lasting fault is logged. The zero value is ready; it
// may be used from several goroutines.
type LogThrottle struct {
	mu   sync.Mutex
	last time.Time
}

// Allow reports whether a message may be logged now: the first time, and then once a
// minute.
func (t *LogThrottle) Allow() bool {
	t.mu.Lock()
	defer t.mu.Unlock()

	now := time.Now()
	// The zero time is the first message.
	if !t.last.IsZero() && now.Sub(t.last) < logInterval {
		return false
	}
	t.last = now

	return true
}
