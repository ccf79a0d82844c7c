package activities

import (
	"cmp"
	"errors"
	"strings"

	"ratchet/internal/worker"
)

// Error is a failure with the name that the state machine's Retry and Catch match.
type Error struct {
	// Name becomes the field Error of the failure, at most 256 bytes. It must not start
	// with "States.", which is reserved for the service.
	Name string
	// Cause becomes the field Cause of the failure. Empty: the text of Err takes its place.
	Cause string
	// Err is the error underneath, or nil.
	Err error

	// own is a name that this package gives, used in place of Name. Config.ErrorPrefix is put before it
	// when it is sent.
	own string
}

func (e *Error) Error() string {
	name := cmp.Or(e.Name, e.own)

	switch {
	case e.Cause != "":
		return name + ": " + e.Cause
	case e.Err != nil:
		return name + ": " + e.Err.Error()
	}

	return name
}

func (e *Error) Unwrap() error { return e.Err }

// Fail gives err the name under which the state machine knows it. Fail(name, nil) is a failure with a
// name and no cause.
func Fail(name string, err error) error { return &Error{Name: name, Err: err} }

// ErrParked ends a handler whose task is answered later, by another program or process. The worker
// stops the heartbeats, answers nothing and frees the slot. No heartbeats are sent after that, so the
// state must have no HeartbeatSeconds, or enough for the whole wait.
var ErrParked = errors.New("activities: task parked")

// ErrNotPolled means that no poll of an activity has been answered yet. The service answers
// after a minute if there is no task.
var ErrNotPolled = errors.New("activities: no poll has been answered yet")

// The causes of the end of a handler's context, as context.Cause returns them.
var (
	// ErrTaskLost: the service says that the task has timed out or is unknown, or no heartbeat was
	// accepted for nine tenths of HeartbeatSeconds. Another worker may run the task already. No failure
	// is sent after that, and an output only if the service may still accept it.
	ErrTaskLost = errors.New("activities: task lost")
	// ErrDeadline: the call took longer than Activity.Timeout.
	ErrDeadline = errors.New("activities: handler took too long")
	// ErrShutdown: the worker stops, and Config.DrainTimeout is over.
	ErrShutdown = errors.New("activities: worker shutting down")
)

// The errors of Run after a drain that had to end tasks. Run may return both, joined.
var (
	// ErrForced: tasks were given back unfinished, with the failure WorkerShutdown, or could not be
	// answered. The state machine can retry a task that was given back at once; it can retry an
	// unanswered task only after HeartbeatSeconds.
	ErrForced = errors.New("activities: tasks were given back unfinished")
	// ErrStuck: handlers have not returned although their contexts have ended.
	ErrStuck = errors.New("activities: handlers did not stop")
)

// The names that the worker itself gives to failures, after Config.ErrorPrefix.
const (
	NameUnknown   = "Unknown"        // the handler's error has no name; retryable
	NamePanic     = "Panic"          // the handler panicked or called runtime.Goexit
	NameDeadline  = "Deadline"       // the handler took longer than Activity.Timeout; retryable
	NameDataLimit = "DataLimit"      // the output is larger than 262,144 bytes and Config.Offload is nil
	NameOutput    = "InvalidOutput"  // the output is not JSON
	NameShutdown  = "WorkerShutdown" // the worker stopped before the handler returned; retryable
	nameInput     = "InvalidInput"   // the input does not fit the type of a Typed handler
)

// PanicError is the error of a handler that panicked or called runtime.Goexit.
type PanicError struct {
	Value any    // the argument of panic; nil for runtime.Goexit
	Stack []byte // of the handler's goroutine
}

func (e *PanicError) Error() string { return (*worker.PanicError)(e).Error() }

// errGoexit is the error of a handler that called runtime.Goexit.
var errGoexit error = &PanicError{}

// call runs a function of the package's user. A panic or a call of runtime.Goexit becomes a
// *PanicError.
func call(fn func() error) error { return panicked(worker.Call(fn)) }

// catchPanic runs a function of the package's user on this goroutine. A panic becomes a *PanicError. A
// call of runtime.Goexit ends the goroutine.
func catchPanic(fn func() error) error { return panicked(worker.CatchPanic(fn)) }

func panicked(err error) error {
	var p *worker.PanicError
	if errors.As(err, &p) {
		return (*PanicError)(p)
	}

	return err
}

// nameOf returns the name and cause under which err is reported. The prefix is put before
// the package's own names.
func nameOf(prefix string, err error) (name, cause string) {
	var named *Error
	var panicked *PanicError

	switch {
	case errors.As(err, &panicked):
		return prefix + NamePanic, panicked.Error() + "\n" + string(panicked.Stack)
	case errors.As(err, &named) && named.own != "":
		return prefix + named.own, causeOf(named)
	// A handler's error with a reserved name is reported under another name: a Retrier for
	// States.Timeout must not match it.
	case errors.As(err, &named) && named.Name != "" && !strings.HasPrefix(named.Name, reservedPrefix):
		return named.Name, causeOf(named)
	case errors.Is(err, ErrDeadline):
		return prefix + NameDeadline, err.Error()
	case errors.Is(err, ErrShutdown):
		return prefix + NameShutdown, err.Error()
	}

	return prefix + NameUnknown, err.Error()
}

func causeOf(e *Error) string {
	if e.Cause == "" && e.Err != nil {
		return e.Err.Error()
	}

	return e.Cause
}
