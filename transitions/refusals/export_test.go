package refusals

import "time"

// SetNow sets the clock: the log may run for longer than a test can wait, even in a bubble.
func (l *Log) SetNow(now func() time.Time) { l.now = now }

// Dropped returns how many refusals were not written since the start of the process.
func (l *Log) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.dropped
}
