package steps

import (
	"context"
	"encoding/json"
	"errors"

	"ratchet/activities"
	"ratchet/inventory"
	"ratchet/once"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
)

// ErrorPrefix begins every error name of the steps and of their worker.
const ErrorPrefix = "Order."

// The names of failures that may be retried. They are part of the state machine.
const (
	nameUnavailable    = "Order.Unavailable"
	nameInProgress     = "Order.InProgress"
	nameGatewayTimeout = "Order.GatewayTimeout"
)

// The names of failures that must not be retried.
const (
	nameInvalidInput     = "Order.InvalidInput"
	nameOutOfStock       = "Order.OutOfStock"
	namePaymentDeclined  = "Order.PaymentDeclined"
	nameShipmentCanceled = "Order.ShipmentCancelled"
	nameClosed           = "Order.Closed"
	nameUnknownVersion   = "Order.UnknownVersion"
)

// RetryableErrors are the error names that every task of the state machine retries:
// the steps' own, the worker's, and the service's time-outs.
func RetryableErrors() []string {
	return []string{
		nameUnavailable,
		nameInProgress,
		nameGatewayTimeout,
		ErrorPrefix + activities.NameUnknown,
		ErrorPrefix + activities.NameDeadline,
		ErrorPrefix + activities.NameShutdown,
		"States.Timeout",
		"States.HeartbeatTimeout",
	}
}

// OvertakenErrors are the error names of a transition whose order was moved by another
// caller. Their cause is the order's position as JSON.
func OvertakenErrors() []string {
	return []string{verdictName(transitions.Superseded), verdictName(transitions.WrongState), verdictName(transitions.Conflict)}
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
	{payments.ErrConflict, nameInvalidInput},
	{inventory.ErrOutOfStock, nameOutOfStock},
	{inventory.ErrClosed, nameClosed},
	{payments.ErrDeclined, namePaymentDeclined},
	{payments.ErrVoided, nameClosed},
	{payments.ErrTimeout, nameGatewayTimeout},
	{shipping.ErrCanceled, nameShipmentCanceled},
	{once.ErrInProgress, nameInProgress},
	{once.ErrStaleOwner, nameInProgress},
	{once.ErrLeaseExpired, nameInProgress},
	{once.ErrClockSkew, nameUnavailable},
	{transitions.ErrEvidenceGone, nameClosed},
	{transitions.ErrUnknownVersion, nameUnknownVersion},
	{transitions.ErrOutcomeUnknown, nameUnavailable},
	{transitions.ErrJournalBehind, nameUnavailable},
	{transitions.ErrContended, nameUnavailable},
	{transitions.ErrUnavailable, nameUnavailable},
	{context.DeadlineExceeded, nameUnavailable},
}

// withName gives an error the name that the state machine knows. An error that is not in
// the list has none: the worker reports it as Order.Unknown, which is retried.
func withName(err error) error {
	for _, c := range errorNames {
		if errors.Is(err, c.is) {
			return activities.Fail(c.name, err)
		}
	}

	return err
}

// overtaken returns the failure of a transition that was refused. The verdict is its name,
// the order's position its cause.
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
