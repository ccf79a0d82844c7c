package transitions

import (
	"errors"
	"fmt"

	"ratchet/workflow"
)

// ErrInvalidRequest: a field of the request breaks a rule. The text names both. Nothing was
// sent, or DynamoDB has refused an own attribute that is a key of an index. Nothing was written.
var ErrInvalidRequest = errors.New("invalid request")

// Errors after which the same request may be sent again.
var (
	// ErrOutcomeUnknown: an attempt of the write had no answer, and no evidence has shown what became
	// of it before the context or the attempts ended. An order that is gone is no evidence: it may have
	// been moved and then deleted. The verdict of the same request, sent again, tells what happened.
	ErrOutcomeUnknown = errors.New("the outcome is unknown; send the same request again to learn it")
	// ErrJournalBehind: the order's ring no longer holds the id, and the journal does not
	// yet have all rows that prove what happened under the id. Retry after the reader of
	// the stream has caught up. With [Config].RequestsTable, a request with a request id
	// gets this error only if writers without such a table have moved the order.
	ErrJournalBehind = errors.New("the journal has not passed this transition yet; retry later")
	// ErrUnavailable: DynamoDB did not answer a read, or the write of the row of a request id
	// that leaves the ring, or it had no capacity in any attempt. If the error is also
	// ErrOutcomeUnknown, an attempt to write the order had no answer; otherwise the order was not
	// written.
	ErrUnavailable = errors.New("DynamoDB did not answer; retry later")
	// ErrContended: other writes changed the order during every attempt. Nothing was
	// written.
	ErrContended = errors.New("the order moved during every attempt; retry later")
	// ErrNotSent: ApplyMany did not send the request, because an earlier one of the same
	// order ended in an error or because the context had ended.
	ErrNotSent = errors.New("not sent: an earlier request of the same order has no answer")
)

// Errors after which the same request fails again until something else has changed.
var (
	// ErrEvidenceGone: the ring no longer holds the id, and no journal is configured or its
	// rows are lost for good (see CloseJournal).
	ErrEvidenceGone = errors.New("the order's ring no longer holds this transition, and no journal proves it")
	// ErrUnknownVersion: the order was last moved under a version of the definition that
	// is neither [Config].Definition's nor in [Config].Versions. The meaning of its state
	// is not known, so nothing was decided or written. Migrate the order, or send the
	// request to a worker that knows the version.
	ErrUnknownVersion = errors.New("the order is of a version of the definition that this worker does not know")
	// ErrJournalAhead: the journal has a row for a transition that the order has not made.
	// One of the two tables was restored from a backup, or changed by another program.
	// `ratchet verify` finds all such orders. Nothing was written.
	ErrJournalAhead = errors.New("the journal already has this transition, but the order has not made it")
	// ErrNotEnded: an event can still leave the order's state, so the data of its customer is
	// still needed.
	ErrNotEnded = errors.New("the order has not ended")
	// ErrOrderFull: the order has reached a bound of its content. The error is a
	// [*LimitError]. The same edit fails again until something is removed.
	ErrOrderFull = errors.New("the order is full")
)

// Errors of reading orders and their journal, and of restoring orders from it.
var (
	// ErrUnknownOrder: there is no such order, and the journal has no rows of it.
	ErrUnknownOrder = errors.New("no such order")
	// ErrJournalBroken: a row of the journal does not continue the one before. The error
	// is a [*JournalError].
	ErrJournalBroken = errors.New("the journal is broken")
	// ErrUnreadable: an attribute of the order's item is not as this package writes it. The text names it.
	ErrUnreadable = errors.New("the order cannot be read")
	// ErrUnmapped: no mapping leads from the order's version and state to the version of a migration.
	ErrUnmapped = errors.New("the order has no mapping")
	// ErrNothingToRestore: the order has made every transition in its journal.
	ErrNothingToRestore = errors.New("the order is not behind its journal")
)

// Error says which request failed and why. Use errors.Is with the errors of this package.
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

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request can be sent again and may succeed then.
func Retryable(err error) bool {
	return errors.Is(err, ErrOutcomeUnknown) ||
		errors.Is(err, ErrJournalBehind) ||
		errors.Is(err, ErrContended) ||
		errors.Is(err, ErrUnavailable) ||
		errors.Is(err, ErrNotSent)
}
