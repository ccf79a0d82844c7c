package execution

import "errors"

// Errors of stimuli that name a task.
var (
	// ErrTaskTimedOut reports that the task is over: it was completed or has timed out, or
	// its execution has ended.
	ErrTaskTimedOut = errors.New("the task does not exist anymore")
	// ErrNotScheduled reports that the task is no longer in the queue.
	ErrNotScheduled = errors.New("the task is not scheduled")
	// ErrNotRunning reports that the execution has ended.
	ErrNotRunning = errors.New("the execution is not running")
)

// NotRedrivableError reports why an execution cannot be redriven.
type NotRedrivableError struct{ Reason string }

func (e *NotRedrivableError) Error() string { return e.Reason }
