package steps

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"ratchet/activities"
	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/payments"
	"ratchet/transitions"
)

// ErrorPrefix begins every error name of the steps and of their worker.
const ErrorPrefix = "Order."

// The names of failures. They are part of the state machine. [ErrorClasses] says how each is handled.
// NameOtherLife ends an execution of a former life of its order: the id was used again, or the order was
// renewed. The present life has an execution of its own.
const (
	nameUnavailable    = "Order.Unavailable"
	nameInProgress     = "Order.InProgress"
	nameGatewayTimeout = "Order.GatewayTimeout"
	nameIncomplete     = "Order.CompensationIncomplete"

	nameOutOfStock      = "Order.OutOfStock"
	namePaymentDeclined = "Order.PaymentDeclined"

	nameInvalidInput    = "Order.InvalidInput"
	nameAlreadyAccepted = "Order.AlreadyAccepted"
	nameOtherExecution  = "Order.OtherExecution"
	NameOtherLife       = "Order.OtherLife"
	nameOtherContent    = "Order.OtherContent"
	nameClosed          = "Order.Closed"
	nameUnknownVersion  = "Order.UnknownVersion"
)

// ErrorNames returns the names that steps give to failures, sorted, without the names of
// activities.RetryAfter.
func ErrorNames() []string {
	names := []string{nameIncomplete, nameAlreadyAccepted, nameOtherContent, nameOtherExecution, NameOtherLife}
	for _, c := range errorNames {
		names = append(names, c.name)
	}

	names = append(names, OvertakenErrors()...)
	names = append(names, verdictName(transitions.NotFound), verdictName(transitions.Illegal))
	slices.Sort(names)

	return slices.Compact(names)
}

func verdictName(v transitions.Verdict) string { return ErrorPrefix + v.String() }

// errorNames maps the errors of other packages to names of the state machine. The first
// match counts.
var errorNames = []struct {
	is   error
	name string
}{
	{transitions.ErrInvalidRequest, nameInvalidInput},
	{inventory.ErrInvalid, nameInvalidInput},
	{once.ErrInvalid, nameInvalidInput},
	{once.ErrMismatch, nameInvalidInput},
	{payments.ErrInvalid, nameInvalidInput},
	{payments.ErrConflict, nameInvalidInput},
	{inventory.ErrOutOfStock, nameOutOfStock},
	{inventory.ErrClosed, nameClosed},
	{payments.ErrDeclined, namePaymentDeclined},
	{payments.ErrVoided, nameClosed},
	{payments.ErrTimeout, nameGatewayTimeout},
	{payments.ErrUnresolved, nameGatewayTimeout},
	{payments.ErrBusy, nameInProgress},
	{once.ErrInProgress, nameInProgress},
	{once.ErrStaleOwner, nameInProgress},
	{once.ErrLeaseExpired, nameInProgress},
	{once.ErrUnanswered, nameUnavailable},
	{transitions.ErrEvidenceGone, nameClosed},
	{transitions.ErrUnknownVersion, nameUnknownVersion},
	{transitions.ErrOutcomeUnknown, nameUnavailable},
	{transitions.ErrJournalBehind, nameUnavailable},
	{transitions.ErrContended, nameUnavailable},
	{transitions.ErrUnavailable, nameUnavailable},
	{context.DeadlineExceeded, nameUnavailable},
}

// withName gives an error the name that the state machine knows. An error that is neither in the list
// nor an error of DynamoDB or an account gets no name: the worker reports it as Order.Unknown.
func withName(err error) error {
	var named *activities.Error
	if err == nil || errors.As(err, &named) {
		return err
	}

	for _, c := range errorNames {
		if errors.Is(err, c.is) {
			return activities.Fail(c.name, err)
		}
	}

	var refusal *ledger.RefusedError
	switch {
	// An account that is closed or has too little refuses every retry in the same way. An operator
	// redrives the execution when the account is right.
	case errors.As(err, &refusal):
		return activities.Fail(nameClosed, err)
	case txn.Retryable(err), dynamo.Retryable(err):
		return activities.Fail(nameUnavailable, err)
	}

	return err
}

// overtaken returns the failure of a transition that was refused. The failure's name is the verdict.
// Its cause is the order's position as JSON.
func overtaken(v transitions.Verdict, order *transitions.Order) error {
	if order == nil {
		return activities.Fail(verdictName(v), errors.New("the order does not allow this transition"))
	}

	cause, err := json.Marshal(order.Position())
	if err != nil {
		return err
	}

	return &activities.Error{Name: verdictName(v), Cause: string(cause)}
}
