package payments

import (
	"errors"
	"fmt"

	"ratchet/workflow"
)

// Errors of a [Processor]. All but ErrTimeout are answers: the step was not made.
var (
	// ErrDeclined means that the payment was refused for good: a repeat changes nothing.
	ErrDeclined = errors.New("payment declined")
	// ErrTimeout means that there was no answer in time. It is not known whether the step was made.
	// Repeat the call under the same key.
	ErrTimeout = errors.New("the payment processor did not answer in time")
	// ErrVoided means that the payment was voided or canceled. No money will be taken under its key.
	ErrVoided = errors.New("payment voided")
	// ErrExpired means that the authorization has expired and nothing of it can be captured.
	// Payments return it with ErrState or ErrDeclined.
	ErrExpired = errors.New("authorization expired")
	// ErrConflict means that the id or key was used with other content: another order, account, amount,
	// currency or kind of step, or another value of Final or ExpiresAt.
	ErrConflict = errors.New("payment key used with another amount")
)

// Other errors of a payment.
var (
	// ErrInvalid means that an argument breaks a rule. The text names the argument and the rule.
	ErrInvalid = errors.New("invalid payment")
	// ErrUnknownPayment means that there is no such payment.
	ErrUnknownPayment = errors.New("unknown payment")
	// ErrExceeded means that the amount is more than may still be captured or refunded, or
	// that the payment has too many steps.
	ErrExceeded = errors.New("more than the payment allows")
	// ErrState means that the payment's state does not allow the step.
	ErrState = errors.New("the payment's state does not allow this")
	// ErrBusy means that another step is pending. Retry when it has ended.
	ErrBusy = errors.New("another step of the payment is under way")
	// ErrUnresolved means that the step has not ended: the processor has not said whether it made the
	// step, or the money that it moved cannot be booked or returned yet. The step stays pending. Repeat
	// the call, or let Recover or the processor's callback finish it.
	ErrUnresolved = errors.New("the outcome of the step is not known yet")
)

// Errors of a callback, in addition to the verifier's.
var (
	// ErrCallback means that the body is signed but is not a callback. The text names the
	// field.
	ErrCallback = errors.New("malformed callback")
	// ErrNoCallbacks means that no secret is configured, so no callback can be verified.
	ErrNoCallbacks = errors.New("callbacks are not configured")
)

// stateError reports an event that the payment's state does not allow.
type stateError struct {
	paymentID string
	state     workflow.State
	event     workflow.Event
}

func (e *stateError) Error() string {
	return fmt.Sprintf("payment %s is %s: %s: %v", e.paymentID, e.state, e.event, ErrState)
}

// Unwrap returns ErrState, and ErrExpired if the payment's authorization has expired.
func (e *stateError) Unwrap() []error {
	if e.state == "AUTH_EXPIRED" {
		return []error{ErrState, ErrExpired}
	}

	return []error{ErrState}
}
