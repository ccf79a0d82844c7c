package api

import (
	"errors"
	"net"
	"net/http"

	"github.com/aws/smithy-go"

	"ratchet/actions"
	"ratchet/inventory"
	"ratchet/ledger"
	"ratchet/once"
	"ratchet/payments"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/webhooks"
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
	{transitions.ErrUnknownVersion, http.StatusConflict, "unknown_version", "The order was last moved under a version of the definition that this server does not know. Nothing was done."},
	{transitions.ErrOutcomeUnknown, http.StatusServiceUnavailable, "outcome_unknown", "The outcome is unknown. Send the same request again to learn it."},
	{transitions.ErrJournalBehind, http.StatusServiceUnavailable, "journal_behind", "What became of the request is not proved yet. Send it again later."},
	{transitions.ErrContended, http.StatusServiceUnavailable, "contended", "Others changed the order during every attempt. Send the same request again."},
	{transitions.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", "The data store does not answer. Send the same request again."},
	{inventory.ErrExpired, http.StatusConflict, "reservation_expired", "The order's reservation has run out. It may reserve again."},
	{inventory.ErrConflict, http.StatusConflict, "conflict", "The order has reserved other lines, or the same lines until later or without an end."},
	{inventory.ErrOutOfStock, http.StatusConflict, "out_of_stock", "A SKU has less than was asked for. Nothing was reserved."},
	{inventory.ErrClosed, http.StatusConflict, "reservation_closed", "The order's reservation has been committed or released before, or was never made."},
	{inventory.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{once.ErrMismatch, http.StatusUnprocessableEntity, "claim_mismatch", "The key was taken for another payload."},
	{once.ErrUnknownOutcome, http.StatusConflict, "unknown_outcome", "Whether the work under this key had its effect is not known."},
	{once.ErrStaleOwner, http.StatusConflict, "stale_owner", "The claim is no longer yours: what you did under it counts for nothing."},
	{once.ErrLeaseExpired, http.StatusConflict, "lease_expired", "The lease ran out before."},
	{once.ErrEnded, http.StatusConflict, "claim_ended", "The claim has ended in another way."},
	{once.ErrResultUnavailable, http.StatusConflict, "result_unavailable", "The work was done, but what it gave was not kept."},
	{once.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{once.ErrClockSkew, http.StatusServiceUnavailable, "clock_skew", "Our clock is too far off to hold leases."},
	{actions.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{actions.ErrConflict, http.StatusUnprocessableEntity, "idempotency_key_reused", "This Idempotency-Key was used for another content. Nothing was done."},
	{actions.ErrNoKey, http.StatusServiceUnavailable, "not_configured", "The key that this needs is not configured."},
	{actions.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", "The data store does not answer. Send the same request again."},
	{ledger.ErrConflict, http.StatusConflict, "conflict", "This id was used with other content."},
	{ledger.ErrInsufficientFunds, http.StatusConflict, "insufficient_funds", "Less is available than asked for. Nothing was moved."},
	{ledger.ErrUnknownAccount, http.StatusNotFound, "account_not_found", "There is no such account."},
	{ledger.ErrAccountClosed, http.StatusConflict, "account_closed", "The account takes part in nothing any more."},
	{ledger.ErrAccountInUse, http.StatusConflict, "account_in_use", "An account with a balance or a hold cannot be closed."},
	{ledger.ErrCurrencyMismatch, http.StatusConflict, "currency_mismatch", "The account has another currency."},
	{ledger.ErrBalanceRange, http.StatusConflict, "balance_range", "The balance would be out of range."},
	{ledger.ErrUnknownHold, http.StatusNotFound, "hold_not_found", "There is no such hold."},
	{ledger.ErrHoldExpired, http.StatusConflict, "hold_expired", "The hold may no longer be settled."},
	{ledger.ErrHoldExceeded, http.StatusConflict, "hold_exceeded", "The hold has less left than asked for."},
	{ledger.ErrHoldClosed, http.StatusConflict, "hold_closed", "The hold was settled or released before."},
	{ledger.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{payments.ErrUnknownPayment, http.StatusNotFound, "payment_not_found", "There is no such payment."},
	{payments.ErrDeclined, http.StatusPaymentRequired, "payment_declined", "The processor refused it for good."},
	{payments.ErrVoided, http.StatusConflict, "payment_voided", "It was voided before."},
	{payments.ErrConflict, http.StatusConflict, "conflict", "This id was used with other content."},
	{payments.ErrExceeded, http.StatusConflict, "payment_exceeded", "More than may still be captured or refunded, or too many steps."},
	{payments.ErrState, http.StatusConflict, "payment_state", "The payment's state does not allow it."},
	{payments.ErrBusy, http.StatusConflict, "payment_busy", "Another step of the payment is under way. Send the request again when it has ended."},
	{payments.ErrUnresolved, http.StatusServiceUnavailable, "unresolved", "The processor has not said what became of it. Nothing is lost: send the same request again."},
	{payments.ErrTimeout, http.StatusServiceUnavailable, "unresolved", "The processor has not said what became of it. Nothing is lost: send the same request again."},
	{payments.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{payments.ErrNoCallbacks, http.StatusNotFound, "route_not_found", "There is no such route."},
	{payments.ErrCallback, http.StatusUnprocessableEntity, "malformed_callback", "It is signed, but no callback."},
	{webhooks.ErrMalformed, http.StatusUnauthorized, "signature_refused", "The signature is not one of the processor's over these bytes, or too old."},
	{webhooks.ErrSignature, http.StatusUnauthorized, "signature_refused", "The signature is not one of the processor's over these bytes, or too old."},
	{webhooks.ErrTimestamp, http.StatusUnauthorized, "signature_refused", "The signature is not one of the processor's over these bytes, or too old."},
	{streams.ErrDeadLetterNotFound, http.StatusNotFound, "dead_letter_not_found", "There is no such dead letter."},
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
