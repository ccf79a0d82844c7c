package activities

import "time"

// Events are optional hooks for metrics and alarms. The worker calls them from several
// goroutines at once; they must neither block nor panic.
type Events struct {
	// Polled is called for every answered poll; got reports whether it brought a task.
	Polled func(activity string, got bool, took time.Duration)
	// PollFailed is called for every poll that failed.
	PollFailed func(activity string, err error)
	// Denied is called with the error when polls of an activity have been refused for 2 minutes, and
	// with nil when they are answered again.
	Denied func(activity string, err error)
	// Started is called before a handler runs.
	Started func(Task)
	// Heartbeat is called after every heartbeat; err is nil if it was accepted. It is not called for a
	// heartbeat that was canceled because the task ended.
	Heartbeat func(t Task, err error)
	// Progress is called for every RecordHeartbeat of a handler.
	Progress func(t Task, progress any)
	// Unresolved is called for a task whose outcome is Unknown, also after
	// Config.Resolve, and before Done.
	Unresolved func(Done)
	// Done is called once per task, when it is answered or given up.
	Done func(Done)
}

// Outcome is how a task ended, as the worker knows it.
type Outcome string

// The ways in which a task can end.
const (
	Succeeded  Outcome = "succeeded"  // the service accepted the output
	Failed     Outcome = "failed"     // the service accepted the failure
	Parked     Outcome = "parked"     // the task is answered later, by another program
	Lost       Outcome = "lost"       // the task is no longer this worker's: it timed out, or the service does not know it
	Unanswered Outcome = "unanswered" // no answer was accepted in time
	Unknown    Outcome = "unknown"    // a repeated answer came too late, and the service may have accepted an earlier one
)

// Done describes the end of a task.
type Done struct {
	Task    Task
	Outcome Outcome
	// ErrorName is the name of the failure that was sent.
	ErrorName string
	// Err is the handler's error, or the reason why the answer was not accepted.
	Err error
	// Progress is the handler's last progress, see RecordHeartbeat.
	Progress any
	// Ran is the time from the receipt of the token to the return of the handler. Took is the time from
	// the receipt of the token to the end of the task.
	Ran, Took time.Duration
}
