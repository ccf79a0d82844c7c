package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"ratchet/actions"
	"ratchet/api/auth"
	"ratchet/inventory"
	"ratchet/ledger"
	"ratchet/once"
	"ratchet/payments"
	"ratchet/payments/reconcile"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/txn"
)

// moneyStatus is the exit status of an error of the ledger or the payments.
func moneyStatus(err error) (status int, known bool) {
	var refusal *ledger.Refusal
	is := func(all ...error) bool {
		for _, e := range all {
			if errors.Is(err, e) {
				return true
			}
		}

		return false
	}
	switch {
	case errors.As(err, &refusal) && slices.Contains([]string{"release", "statement", "close account"}, refusal.Op) &&
		is(ledger.ErrUnknownHold, ledger.ErrUnknownAccount): // what the command names, not what it touches
		return exitNotFound, true
	case is(reconcile.ErrHeader):
		return exitUsage, true
	case is(ledger.ErrInvalid, payments.ErrInvalid, txn.ErrInvalid):
		return exitUsage, true
	case is(payments.ErrUnknownPayment):
		return exitNotFound, true
	case is(payments.ErrDeclined, payments.ErrVoided, payments.ErrConflict, payments.ErrExceeded, payments.ErrState, payments.ErrBusy), errors.As(err, &refusal):
		return exitRefused, true
	}

	return 0, false
}

// Exit statuses, as `ratchet --help` lists them.
const (
	exitOK       = 0
	exitFailure  = 1 // something went wrong, or a check found a discrepancy
	exitUsage    = 2 // bad arguments or bad input
	exitRefused  = 3 // the request was judged and not applied, or is in conflict
	exitNotFound = 4 // no such order, execution, SKU, action, key, ...
)

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
