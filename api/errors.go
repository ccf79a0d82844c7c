package api

import (
	"errors"
	"net"
	"net/http"

	"github.com/aws/smithy-go"

	"ratchet/inventory"
	"ratchet/streams"
	"ratchet/transitions"
)

// knownErrors are the errors of the domain packages that a caller can do something
// about. An empty detail passes the error's own text on: it names field and rule.
var knownErrors = []struct {
	err    error
	status int
	code   string
	detail string
}{
	{transitions.ErrInvalidRequest, http.StatusUnprocessableEntity, "invalid_request", ""},
	{transitions.ErrOrderFull, http.StatusConflict, "order_full", ""},
	{transitions.ErrUnknownOrder, http.StatusNotFound, "order_not_found", "There is no such order."},
	{transitions.ErrOutcomeUnknown, http.StatusServiceUnavailable, "outcome_unknown", "The outcome is unknown. Send the same request again to learn it."},
	{transitions.ErrJournalBehind, http.StatusServiceUnavailable, "journal_behind", "What became of the request is not proved yet. Send it again later."},
	{transitions.ErrContended, http.StatusServiceUnavailable, "contended", "Others changed the order during every attempt. Send the same request again."},
	{transitions.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", "The data store does not answer. Send the same request again."},
	{inventory.ErrOutOfStock, http.StatusConflict, "out_of_stock", "A SKU has less than was asked for. Nothing was reserved."},
	{inventory.ErrClosed, http.StatusConflict, "reservation_closed", "The order's reservation has been committed or released before, or was never made."},
	{inventory.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{streams.ErrNoLetter, http.StatusNotFound, "dead_letter_not_found", "There is no such dead letter."},
	{streams.ErrRedriving, http.StatusConflict, "redriving", "Somebody is redriving this letter."},
}

// unavailable reports an error of the way to AWS, or of AWS itself, that passes.
func unavailable(err error) bool {
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
			"ServiceUnavailable", "TransactionConflictException", "TransactionInProgressException":
			return true
		}
		return api.ErrorFault() == smithy.FaultServer
	}
	var network net.Error
	return errors.As(err, &network)
}
