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
	// ErrContended: other requests moved the order each time an id was allotted.
	ErrContended = errors.New("the order moved during every attempt; retry later")
)

// ErrEvidenceGone: the ring has forgotten the id and no journal is configured.
var ErrEvidenceGone = errors.New("the order's ring no longer holds this transition and no journal table is configured")

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
