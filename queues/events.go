package queues

import "time"

// Events are optional hooks for metrics and alarms. The consumer calls them from several
// goroutines at once; they must neither block nor panic.
type Events struct {
	// Polled is called for every answered poll, with the number of received messages.
	Polled func(messages int, took time.Duration)
	// PollFailed is called for every poll that failed.
	PollFailed func(err error)
	// Extended is called after every call that extends visibility timeouts.
	Extended func(messages int, err error)
	// Ended is called once per receive of a message, when it is no longer in flight.
	Ended func(Ended)
}

// Disposition says how one receive of a message ended, as far as the consumer knows.
type Disposition string

// The ways in which a receive can end.
const (
	Deleted      Disposition = "deleted"       // done
	DeadLettered Disposition = "dead_lettered" // sent to the dead-letter queue and deleted
	Returned     Disposition = "returned"      // comes again, after a wait or at once
	Unread       Disposition = "unread"        // returned before its handler was called
	Lost         Disposition = "lost"          // another receiver has the message, or the service did not confirm the last call
)

// Ended describes the end of a receive.
type Ended struct {
	Message Message
	// Outcome is the handler's answer, but a rejection if the answer was the last Retry that
	// Attempts allows. Zero when no handler was called.
	Outcome     Outcome
	Disposition Disposition
	// Ran is how long the handler ran, Took the time from the receive to the end.
	Ran, Took time.Duration
}
