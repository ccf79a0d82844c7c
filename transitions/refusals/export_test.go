package refusals

// Dropped returns how many refusals were not written since the start of the process.
func (l *Log) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.dropped
}
