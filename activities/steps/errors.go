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

// The names of failures. The first list may be retried, the second not.
const (
	nameUnavailable    = "Order.Unavailable"
	nameInProgress     = "Order.InProgress"
	nameGatewayTimeout = "Order.GatewayTimeout"

	nameInvalidInput      = "Order.InvalidInput"
	nameOutOfStock        = "Order.OutOfStock"
	namePaymentDeclined   = "Order.PaymentDeclined"
	nameShipmentCancelled = "Order.ShipmentCancelled"
	nameClosed            = "Order.Closed"
	nameUnknownVersion    = "Order.UnknownVersion"
)

// RetryableErrors are the error names that every task of the state machine retries:
// the steps' own, the worker's, and the service's time-outs.
func RetryableErrors() []string {
	return []string{nameUnavailable, nameInProgress, nameGatewayTimeout,
		ErrorPrefix + activities.NameUnknown, ErrorPrefix + activities.NameDeadline, ErrorPrefix + activities.NameShutdown,
		"States.Timeout", "States.HeartbeatTimeout"}
}

// OvertakenErrors are the error names under which a transition learns that somebody
// else moved the order. Their cause is the order's position as JSON.
func OvertakenErrors() []string {
	return []string{verdictName(transitions.Superseded), verdictName(transitions.WrongState), verdictName(transitions.Conflict)}
}

func verdictName(v transitions.Verdict) string { return ErrorPrefix + v.String() }

// classes pairs what the packages below return with the name that the state machine
// knows. The first match counts.
var classes = []struct {
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
	{shipping.ErrCancelled, nameShipmentCancelled},
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

// named gives an error the name that the state machine knows; what is not in the
// list stays unnamed and is reported as Order.Unknown, which is retried.
func named(err error) error {
	for _, c := range classes {
		if errors.Is(err, c.is) {
			return activities.Fail(c.name, err)
		}
	}

	return err
}

// overtaken is the failure of a transition that was refused: the verdict is the
// name, the order's position the cause.
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
