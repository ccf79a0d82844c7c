// Command ratchet runs and watches the order state machine that only moves forward.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"ratchet/actions"
	"ratchet/api/auth"
	"ratchet/inventory"
	"ratchet/once"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/transitions"
)

// Exit statuses, as `ratchet --help` lists them.
const (
	exitOK       = 0
	exitFailure  = 1 // something went wrong, or a check found a discrepancy
	exitUsage    = 2 // bad arguments or bad input
	exitRefused  = 3 // the request was judged and not applied, or is in conflict
	exitNotFound = 4 // no such order, execution, SKU, action, key, ...
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Much short-lived garbage over a small heap: collecting four times less often
		// costs some tens of megabytes and saves about a sixth of the time.
		debug.SetGCPercent(400)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	stop()
	os.Exit(report(err))
}

// statusError carries an exit status. A nil err means that everything worth saying
// has been printed.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return fmt.Sprint(e.err) }
func (e *statusError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

// report prints the error and returns the exit status that belongs to it.
func report(err error) int {
	var s *statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &s):
		if s.err != nil {
			fmt.Fprintln(os.Stderr, "ratchet:", s.err)
		}
		return s.status
	}
	fmt.Fprintln(os.Stderr, "ratchet:", err)

	if status, known := moneyStatus(err); known {
		return status
	}

	for _, s := range statuses {
		for _, known := range s.errs {
			if errors.Is(err, known) {
				return s.status
			}
		}
	}

	return exitFailure
}

// statuses are the errors with an exit status other than exitFailure, first match: a
// conflict may be an invalid request, too.
var statuses = []struct {
	status int
	errs   []error
}{
	{exitRefused, []error{
		inventory.ErrConflict, inventory.ErrOutOfStock, inventory.ErrClosed, actions.ErrConflict, auth.ErrEnded, transitions.ErrOrderFull,
		once.ErrInProgress, once.ErrMismatch, once.ErrUnknownOutcome, streams.ErrRedriving, server.ErrOtherOrder,
	}},
	{exitNotFound, []error{errNotFound, auth.ErrNoKey, transitions.ErrUnknownOrder, streams.ErrDeadLetterNotFound}},
	{exitUsage, []error{
		transitions.ErrInvalidRequest, server.ErrDefinition, once.ErrInvalid, actions.ErrInvalid, auth.ErrInvalid,
		inventory.ErrInvalid,
	}},
}

// errNotFound: there is no such order, execution, SKU, ...
var errNotFound = errors.New("not found")
