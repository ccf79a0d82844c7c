package activities

import "time"

// Events are optional hooks for metrics and alarms. They are called from the
// worker's goroutines, several at once, and must neither block nor panic.
type Events struct {
	// Polled is called for every answered poll; got says whether it brought a task.
	Polled func(activity string, got bool, took time.Duration)
	// PollFailed is called for every poll that failed.
	PollFailed func(activity string, err error)
	// Started is called when a handler is about to run.
	Started func(Task)
	// Beat is called after every heartbeat; err is nil when it was accepted.
	Beat func(t Task, err error)
	// Done is called once per task, when it is answered or given up.
	Done func(Done)
}

// Outcome says how a task ended, seen from the worker.
type Outcome string

// How a task can end.
const (
	Succeeded  Outcome = "succeeded"  // the service accepted the output
	Failed     Outcome = "failed"     // the service accepted the failure
	Parked     Outcome = "parked"     // somebody else will answer
	Lost       Outcome = "lost"       // the task is no longer ours: timed out, or unknown
	Unanswered Outcome = "unanswered" // no answer was accepted before the deadline
)

// Done describes the end of a task.
type Done struct {
	Task    Task
	Outcome Outcome
	// ErrorName is the name reported with Failed.
	ErrorName string
	// Err is what the handler returned, or why the answer was not accepted.
	Err error
	// Ran is how long the handler ran, Took the time from the token's receipt to
	// the end.
	Ran, Took time.Duration
}
