package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"ratchet/activities"
	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/operate/audit"
	"ratchet/operate/executions"
	"ratchet/operate/jobs"
	"ratchet/payments"
	"ratchet/payments/reconcile"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/workflow/scaffold"
)

// moneyStatus returns the exit status of an error of the ledger or the payments, and whether the
// error is one of these. A table is not enough: the meaning of an unknown account depends on the
// operation.
func moneyStatus(err error) (status int, known bool) {
	var refusal *ledger.RefusedError
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
		is(ledger.ErrUnknownHold, ledger.ErrUnknownAccount):
		// The command itself names the hold or account. In a transfer, an unknown account
		// is a refusal.
		return exitNotFound, true
	case is(reconcile.ErrHeader):
		return exitUsage, true
	case is(ledger.ErrInvalid, payments.ErrInvalid, txn.ErrInvalid):
		return exitUsage, true
	case is(payments.ErrUnknownPayment):
		return exitNotFound, true
	// A refusal of the ledger that was not recognized above is a decision, too.
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
	exitRefused  = 3 // the request was decided and not applied, or is in conflict
	exitNotFound = 4 // no such order, execution, SKU, action, key, ...
	exitForced   = 5 // a stop gave tasks back unfinished; after a clean stop it is exitOK

	exitAborted = 130 // a second signal ended the process at once, as shells report SIGINT
)

// statusError is an error with an exit status. With a nil err everything has been printed already.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return fmt.Sprint(e.err) }
func (e *statusError) Unwrap() error { return e.err }

// usageError returns an error with the exit status for bad arguments or bad input.
func usageError(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

// hintedError is a statusError with the hint of an error code.
type hintedError struct {
	statusError

	code string
}

func (e *hintedError) Unwrap() error { return &e.statusError }

// hintOf returns the hint for an error, with the error's code. It returns "" if the hint would say
// no more than the error.
func hintOf(err error) string {
	code := api.CodeOf(err)

	// A verdict has a code, although its error has no text.
	if hinted, is := errors.AsType[*hintedError](err); is {
		code = hinted.code
	}

	switch hint := api.HintOf(code); {
	case hint == "", code == "invalid_request": // the error names field and rule
		return ""
	default:
		return fmt.Sprintf("hint: %s (%s in docs/reference/errors.md)", hint, code)
	}
}

// report prints the error with its hint on standard error and returns its exit status.
func report(err error) int {
	hint := hintOf(err)

	var s *statusError
	if errors.As(err, &s) {
		// The hint comes from the whole chain of errors, the text from the cause.
		err = s.err
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "ratchet:", err)
	}

	if hint != "" {
		fmt.Fprintln(os.Stderr, hint)
	}

	if s != nil {
		return s.status
	}

	return exitStatusOf(err)
}

// endProcess ends the process with an error that it cannot survive.
func endProcess(err error) { os.Exit(report(err)) }

// exitStatusOf returns the exit status of an error.
func exitStatusOf(err error) int {
	var s *statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &s):
		return s.status
	}

	if status, known := moneyStatus(err); known {
		return status
	}

	// The order decides: an error can match two lines.
	for _, s := range statuses {
		for _, known := range s.errs {
			if errors.Is(err, known) {
				return s.status
			}
		}
	}

	return exitFailure
}

// statuses lists the errors with an exit status other than exitFailure. The first match
// counts: a conflict may be an invalid request, too.
var statuses = []struct {
	status int
	errs   []error
}{
	{exitRefused, []error{
		actions.ErrConflict,
		auth.ErrEnded,
		inventory.ErrClosed, inventory.ErrConflict, inventory.ErrOutOfStock,
		once.ErrInProgress, once.ErrMismatch, once.ErrUnknownOutcome,
		executions.ErrOtherOrder, executions.ErrFailed, executions.ErrHealthy, executions.ErrNotRedrivable,
		deadletters.ErrRedriving,
		reports.ErrNoAttention, reports.ErrNoShipment, shipping.ErrNotCanceled, shipping.ErrCanceled, shipping.ErrCanceledByCarrier,
		transitions.ErrOrderFull,
		scheduled.ErrConflict, scheduled.ErrFull, scheduled.ErrTime, scheduled.ErrEnded, scheduled.ErrAnotherLife,
		jobs.ErrState,
		notify.ErrExists, notify.ErrConfigured, notify.ErrPending, notify.ErrTooMany,
	}},
	{exitNotFound, []error{errNotFound, auth.ErrNoKey, transitions.ErrUnknownOrder, scheduled.ErrNotFound, deadletters.ErrNotFound, jobs.ErrNotFound, notify.ErrNotFound, reports.ErrUnknownReport}},
	{exitForced, []error{activities.ErrForced, activities.ErrStuck}},
	{exitUsage, []error{
		transitions.ErrInvalidRequest, server.ErrDefinition, server.ErrStateMachine, server.ErrUnnamed, once.ErrInvalid, actions.ErrInvalid, auth.ErrInvalid,
		audit.ErrInvalid, jobs.ErrInvalid, inventory.ErrInvalid, notify.ErrInvalid, scaffold.ErrInvalid,
	}},
}

// errNotFound means that there is no such order, execution, SKU, ...
var errNotFound = errors.New("not found")
