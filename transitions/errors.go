package transitions

import (
	"errors"
	"fmt"

	"ratchet/workflow"
)

// Errors of a request that was never sent.
var (
	// ErrInvalidRequest: a field of the request breaks a rule; the text names both.
	ErrInvalidRequest = errors.New("invalid request")
)

// Errors after which the same request may be sent again.
var (
	// ErrOutcomeUnknown: the write was sent and no answer came before the context
	// or the attempts ended. The same request, sent again, tells what happened.
	ErrOutcomeUnknown = errors.New("the outcome is unknown; send the same request again to learn it")
	// ErrJournalBehind: the order's ring has forgotten the id and the journal does
	// not prove yet what happened to it. Retry after the stream has been read.
	ErrJournalBehind = errors.New("the journal has not passed this transition yet; retry later")
	// ErrUnavailable: DynamoDB did not answer a read. Together with ErrOutcomeUnknown the
	// read was to settle a write that had been sent; otherwise nothing was sent.
	ErrUnavailable = errors.New("DynamoDB did not answer; retry later")
	// ErrContended: other requests moved the order each time an id was assigned.
	ErrContended = errors.New("the order moved during every attempt; retry later")
	// ErrNotSent: the request was not sent, since an earlier one of the same order ended
	// in an error (or the context had ended): to go on would take its place.
	ErrNotSent = errors.New("not sent: an earlier request of the same order has no answer")
)

// Errors after which the same request fails again until something else has changed.
var (
	// ErrEvidenceGone: the ring has forgotten the id and no journal is configured.
	ErrEvidenceGone = errors.New("the order's ring no longer holds this transition and no journal table is configured")
	// ErrUnknownVersion: the order was last moved under a version of the definition that
	// these orders neither run nor accept ([Config].Versions). What its state means there
	// is not known here, so nothing was decided and nothing was written. It stays so until
	// the order is migrated or the caller meets a worker that knows the version.
	ErrUnknownVersion = errors.New("the order is of a version of the definition that this worker does not know")
	// ErrJournalAhead: the journal holds a row that the order has not come to. One of the
	// two was restored, deleted or written by somebody else; `ratchet verify` finds all
	// such orders. Nothing was changed.
	ErrJournalAhead = errors.New("the journal already has this transition, but the order has not made it")
	// ErrOrderFull: the order has reached a bound of its content. The error is a
	// [*LimitError]; the same edit fails again until something is removed.
	ErrOrderFull = errors.New("the order is full")
)

// Errors of history, views and restoring.
var (
	// ErrUnknownOrder: there is no such order, and no journal of one.
	ErrUnknownOrder = errors.New("no such order")
	// ErrJournalBroken: the journal's rows are no chain. The error is a [*JournalError].
	ErrJournalBroken = errors.New("the journal is broken")
	// ErrNothingToRestore: the order has made everything that its journal knows of.
	ErrNothingToRestore = errors.New("the order is not behind its journal")
)

// Error says which request failed and why. Use errors.Is with the errors above.
type Error struct {
	Order        OrderID
	Event        workflow.Event
	TransitionID TransitionID
	Err          error
}

func (e *Error) Error() string {
	if e.TransitionID == 0 {
		return fmt.Sprintf("apply %s to order %s: %v", e.Event, e.Order, e.Err)
	}
	return fmt.Sprintf("apply transition %d (%s) to order %s: %v", e.TransitionID, e.Event, e.Order, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func Retryable(err error) bool {
	return errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrJournalBehind) || errors.Is(err, ErrContended) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotSent)
}
