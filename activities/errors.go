package activities

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a failure with the name that the state machine's Retry and Catch
// match on.
type Error struct {
	// Name goes into the "error" field, at most 256 characters. It must not start
	// with "States.", which is the service's own.
	Name string
	// Cause goes into the "cause" field when not empty; else Err's text does.
	Cause string
	// Err is what went wrong underneath, or nil.
	Err error
}

func (e *Error) Error() string {
	switch {
	case e.Cause != "":
		return e.Name + ": " + e.Cause
	case e.Err != nil:
		return e.Name + ": " + e.Err.Error()
	}

	return e.Name
}

func (e *Error) Unwrap() error { return e.Err }

// Fail gives err the name that the state machine knows it by. Fail(name, nil)
// is a failure too: it has the name and no cause.
func Fail(name string, err error) error { return &Error{Name: name, Err: err} }

// ErrParked says that somebody else will answer the task later: the worker
// stops its heartbeats, answers nothing and frees the slot. The state's
// HeartbeatSeconds must then be absent or long, as nobody beats any more.
var ErrParked = errors.New("activities: task parked")

// Park returns ErrParked, to end a handler with.
func Park() error { return ErrParked }

// What ended a handler's context, as told by context.Cause.
var (
	// ErrTaskLost: the service says that the task has timed out or is unknown, or
	// heartbeats have failed for so long that it must have. Another worker may be
	// running it already; nothing is answered.
	ErrTaskLost = errors.New("activities: task lost")
	// ErrDeadline: the call took longer than Activity.Timeout.
	ErrDeadline = errors.New("activities: handler took too long")
	// ErrShutdown: the worker stops and the first drain period is over.
	ErrShutdown = errors.New("activities: worker shutting down")
)

// The names that the worker itself gives to failures, behind Config.ErrorPrefix.
const (
	NameUnknown   = "Unknown"        // the handler's error has no name; retryable
	NamePanic     = "Panic"          // the handler panicked or called runtime.Goexit
	NameDeadline  = "Deadline"       // the handler took longer than Activity.Timeout; retryable
	NameDataLimit = "DataLimit"      // the output is larger than 262,144 bytes and nothing offloads it
	NameOutput    = "InvalidOutput"  // the output is not JSON
	NameShutdown  = "WorkerShutdown" // the worker stopped before the handler was done; retryable
)

// PanicError is what a panicking handler is taken to have returned.
type PanicError struct {
	Value any    // what was passed to panic; nil for runtime.Goexit
	Stack []byte // of the handler's goroutine
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "handler called runtime.Goexit"
	}
	return fmt.Sprintf("handler panicked: %v", e.Value)
}

// nameOf finds the name and cause under which err is reported.
func (c *Config) nameOf(err error) (name, cause string) {
	var named *Error
	var panicked *PanicError
	switch {
	case errors.As(err, &panicked):
		return c.ErrorPrefix + NamePanic, panicked.Error() + "\n" + string(panicked.Stack)
	case errors.As(err, &named) && named.Name != "" && !strings.HasPrefix(named.Name, "States."):
		if named.Cause == "" && named.Err != nil {
			return named.Name, named.Err.Error()
		}
		return named.Name, named.Cause
	case errors.Is(err, ErrDeadline):
		return c.ErrorPrefix + NameDeadline, err.Error()
	case errors.Is(err, ErrShutdown):
		return c.ErrorPrefix + NameShutdown, err.Error()
	}

	return c.ErrorPrefix + NameUnknown, err.Error()
}
