package exit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

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
		return NotFound, true
	case is(reconcile.ErrHeader):
		return Usage, true
	case is(ledger.ErrInvalid, payments.ErrInvalid, txn.ErrInvalid):
		return Usage, true
	case is(payments.ErrUnknownPayment):
		return NotFound, true
	// A refusal of the ledger that was not recognized above is a decision, too.
	case is(payments.ErrDeclined, payments.ErrVoided, payments.ErrConflict, payments.ErrExceeded, payments.ErrState, payments.ErrBusy), errors.As(err, &refusal):
		return Refused, true
	}

	return 0, false
}

// Exit statuses, as `ratchet --help` lists them. What they mean for a command is in cmd/cli/statuses.txt.
const (
	OK       = 0
	Failure  = 1 // something went wrong, or a check found a discrepancy
	Usage    = 2 // bad arguments or bad input
	Refused  = 3 // the request was decided and not applied, or is in conflict
	NotFound = 4 // no such order, execution, SKU, action, key, ...
	Forced   = 5 // a stop gave tasks back unfinished; after a clean stop it is OK
	Paused   = 6 // the command was interrupted and has paused its job; the text says how to go on

	Aborted = 130 // a second signal ended the process at once, as shells report SIGINT
)

// Error is an error with an exit status. With a nil err everything has been printed already.
type Error struct {
	Status int
	err    error
}

func (e *Error) Error() string { return fmt.Sprint(e.err) }
func (e *Error) Unwrap() error { return e.err }

// UsageError returns an error with the exit status for bad arguments or bad input.
func UsageError(format string, args ...any) error {
	return With(Usage, fmt.Errorf(format, args...))
}

// Wrong returns one error about all that is wrong with the flags of a call, or nil.
func Wrong(all ...error) error {
	all = slices.DeleteFunc(all, func(err error) bool { return err == nil })

	switch len(all) {
	case 0:
		return nil
	case 1:
		return With(Usage, all[0])
	}

	var text strings.Builder
	for _, err := range all {
		text.WriteString("\n  " + err.Error())
	}

	return UsageError("%d flags or arguments are wrong:%s", len(all), text.String())
}

// hintedError is an Error with the hint of an error code.
type hintedError struct {
	of   *Error
	code string
}

func (e *hintedError) Error() string { return e.of.Error() }
func (e *hintedError) Unwrap() error { return e.of }

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

// joined is the type of what errors.Join returns.
var joined = reflect.TypeOf(errors.Join(context.Canceled))

// OnlyCanceled reports whether an interruption has caused the error, and nothing else: of errors that were joined, each one.
func OnlyCanceled(err error) bool {
	for one := err; one != nil; one = errors.Unwrap(one) {
		if reflect.TypeOf(one) == joined {
			all := one.(interface{ Unwrap() []error }).Unwrap() //nolint:forcetypeassert // joined has the method
			return !slices.ContainsFunc(all, func(e error) bool { return !OnlyCanceled(e) })
		}
	}

	return errors.Is(err, context.Canceled)
}

// Report prints the error with its hint on standard error and returns its exit status.
func Report(err error) int {
	hint := hintOf(err)

	var s *Error

	if OnlyCanceled(err) && StatusOf(err) == Failure {
		// Whichever call the interruption has met says nothing to its reader.
		err = errInterrupted
	}

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
		return s.Status
	}

	return StatusOf(err)
}

var errInterrupted = errors.New("interrupted")

// EndProcess ends the process with an error that it cannot survive.
func EndProcess(err error) { os.Exit(Report(err)) }

// StatusOf returns the exit status of an error.
func StatusOf(err error) int {
	var s *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &s):
		return s.Status
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

	return Failure
}

// statuses lists the errors with an exit status other than Failure. The first match
// counts: a conflict may be an invalid request, too.
var statuses = []struct {
	status int
	errs   []error
}{
	{Refused, []error{
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
	{NotFound, []error{ErrNotFound, auth.ErrNoKey, transitions.ErrUnknownOrder, scheduled.ErrNotFound, deadletters.ErrNotFound, jobs.ErrNotFound, notify.ErrNotFound, reports.ErrUnknownReport}},
	{Forced, []error{activities.ErrForced, activities.ErrStuck}},
	{Usage, []error{
		transitions.ErrInvalidRequest, server.ErrDefinition, server.ErrStateMachine, server.ErrUnnamed, once.ErrInvalid, actions.ErrInvalid, auth.ErrInvalid,
		audit.ErrInvalid, jobs.ErrInvalid, inventory.ErrInvalid, notify.ErrInvalid, scaffold.ErrInvalid,
	}},
}

// ErrNotFound means that there is no such order, execution, SKU, ...
var ErrNotFound = errors.New("not found")

// ErrNoData means that the data directory of a command holds nothing. It is an ErrNotFound of every command.
var ErrNoData = fmt.Errorf("%w", ErrNotFound)

// With returns an error with the exit status. err is nil if everything was printed already.
func With(status int, err error) error { return &Error{status, err} }

// WithHint returns an error with the exit status and the hint of an error code, for what was printed already.
func WithHint(status int, code string) error {
	return &hintedError{&Error{Status: status}, code}
}
