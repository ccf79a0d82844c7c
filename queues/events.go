package queues

import (
	"sync"
	"time"
)

// Events are optional hooks for metrics and alarms. They are called from the
// consumer's goroutines, several at once, and must neither block nor panic.
type Events struct {
	// Polled is called for every answered poll, with the number of messages it brought.
	Polled func(messages int, took time.Duration)
	// PollFailed is called for every poll that failed.
	PollFailed func(err error)
	// Extended is called after every call that renews visibility time-outs.
	Extended func(messages int, err error)
	// Ended is called once per message received, when it is no longer held.
	Ended func(Ended)
}

// Fate is what became of a message, seen from the consumer.
type Fate string

// How a receive can end.
const (
	Deleted      Fate = "deleted"       // done
	DeadLettered Fate = "dead_lettered" // sent to the dead letters and deleted
	Returned     Fate = "returned"      // comes again, after a pause or at once
	Unread       Fate = "unread"        // returned without having been handled
	Lost         Fate = "lost"          // no longer ours, or not told to the service in time
)

// Ended describes the end of a receive.
type Ended struct {
	Message Message
	// Outcome is the handler's answer, as it was judged: a retry after the last attempt
	// is a rejection. Empty when Fate is Unread.
	Outcome Outcome
	Fate    Fate
	// Ran is how long the handler ran, Took the time from the receive to the end.
	Ran, Took time.Duration
}

// sparse lets a message about a lasting trouble into the log once a minute.
type sparse struct {
	mu   sync.Mutex
	last time.Time
}

func (s *sparse) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.last.IsZero() && now.Sub(s.last) < time.Minute {
		return false
	}
	s.last = now

	return true
}
