package telemetry

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"

	"ratchet/activities"
	"ratchet/notify"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
)

// errorClasses are the errors with a class of their own. The first one that matches counts.
var errorClasses = []struct {
	err   error
	class string
}{
	{transitions.ErrInvalidRequest, "invalid_request"},
	{transitions.ErrOutcomeUnknown, "outcome_unknown"},
	{transitions.ErrContended, "contended"},
	{transitions.ErrJournalBehind, "journal_behind"},
	{transitions.ErrEvidenceGone, "evidence_gone"},
	{transitions.ErrUnknownVersion, "unknown_version"},
	{transitions.ErrOrderFull, "order_full"},
	{transitions.ErrUnavailable, "unavailable"},
	{shipping.ErrCanceled, "shipment_canceled"},
	{shipping.ErrRefused, "refused"},
	{shipping.ErrUnknownShipment, "unknown_shipment"},
	{payments.ErrDeclined, "declined"},
	{payments.ErrVoided, "voided"},
	{payments.ErrExpired, "expired"},
	{payments.ErrConflict, "conflict"},
	{payments.ErrTimeout, "timeout"},
	{notify.ErrGone, "gone"},
	{notify.ErrRejected, "rejected"},
	{notify.ErrSkipped, "skipped"},
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
}

// classPanic is the class of a call that panics.
const classPanic = "panic"

// otherError is the class of all other errors, as the semantic conventions name it.
const otherError = "_OTHER"

// errorClass returns the class of an error, "" for nil. It never returns the error's text, which
// may quote the answer of a far side.
func errorClass(err error) string {
	if err == nil {
		return ""
	}

	// The state machine sees the name that an activity gives its error.
	if named, is := errors.AsType[*activities.Error](err); is && named.Name != "" {
		return named.Name
	}

	for _, known := range errorClasses {
		if errors.Is(err, known.err) {
			return known.class
		}
	}

	if answer, is := errors.AsType[smithy.APIError](err); is {
		return answer.ErrorCode()
	}

	return otherError
}
