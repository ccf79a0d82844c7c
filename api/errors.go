package api

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"

	"ratchet/notify"
	"ratchet/notify/webhooks"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/operate/audit"
	"ratchet/operate/erasure"
	"ratchet/operate/executions"
	"ratchet/operate/inspect"
	"ratchet/operate/jobs"
	"ratchet/operate/questions"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
)

// Details that several problems share.
const (
	detailIDReused    = "This id was used with other content."
	detailKeyReused   = "This Idempotency-Key was used with other content. Nothing was done."
	detailSignature   = "The signature is not the processor's for these bytes, or is too old."
	detailUnavailable = "The data store does not answer. Send the same request again."
	detailUnresolved  = "The processor has not reported the outcome. Nothing is lost: send the same request again."
)

// domainError says how an error of a domain package is answered.
type domainError struct {
	err    error
	status int
	code   string
	detail string // "" for the text of the error, which names the field and its rule
}

// domainErrors are the errors of the domain packages that a caller can act on. The first match
// counts: an error that wraps another one belongs before it.
var domainErrors = []domainError{
	// Orders.
	{inspect.ErrListsNotReady, http.StatusServiceUnavailable, "lists_not_ready", "The lists of orders are being built. Ask again later, or without a time."},
	{inspect.ErrFilter, http.StatusUnprocessableEntity, "filter_unsupported", ""},
	{transitions.ErrInvalidRequest, http.StatusUnprocessableEntity, "invalid_request", ""},
	{transitions.ErrOrderFull, http.StatusConflict, "order_full", ""},
	{transitions.ErrUnknownOrder, http.StatusNotFound, "order_not_found", "There is no such order."},
	{transitions.ErrUnknownVersion, http.StatusConflict, "unknown_version", "The order was last moved under a version of the definition that this server does not know. Nothing was done."},
	{transitions.ErrUnreadable, http.StatusConflict, "order_unreadable", ""},
	{transitions.ErrEvidenceGone, http.StatusConflict, "evidence_gone", "Nothing proves any more whether this request was applied. Nothing was done."},
	{transitions.ErrJournalAhead, http.StatusConflict, "journal_ahead", "The journal has transitions that the order has not made. Nothing was done."},
	{transitions.ErrJournalBroken, http.StatusConflict, "journal_broken", "The order and its journal do not fit together, so nothing proves whether the request was applied. Nothing was done."},
	{transitions.ErrOutcomeUnknown, http.StatusServiceUnavailable, "outcome_unknown", "The outcome is unknown. Send the same request again to learn it."},
	{transitions.ErrJournalBehind, http.StatusServiceUnavailable, "journal_behind", "The journal does not show yet whether the request was applied. Send it again later."},
	{transitions.ErrContended, http.StatusServiceUnavailable, "contended", "Other requests changed the order during every attempt. Send the same request again."},
	{transitions.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", detailUnavailable},

	// Requests for later, after what orders say.
	{scheduled.ErrNotFound, http.StatusNotFound, "scheduled_not_found", "The order has no such scheduled request."},
	{scheduled.ErrEnded, http.StatusConflict, "scheduled_ended", "The request was applied, refused or withdrawn before. Nothing was done."},
	{scheduled.ErrTime, http.StatusConflict, "time_out_of_range", "The time is past, or more than 366 days ahead. Nothing was stored."},
	{scheduled.ErrFull, http.StatusConflict, "too_many_scheduled", "1,000 requests of the order wait already. Nothing was stored."},
	{scheduled.ErrConflict, http.StatusConflict, "idempotency_key_reused", detailKeyReused},
	{scheduled.ErrAnotherLife, http.StatusConflict, "order_erased", "The person of the order was erased, so no request for later is stored."},

	// Erasures, after what orders say.
	{transitions.ErrNotEnded, http.StatusConflict, "not_erasable", "The order has not ended."},
	{erasure.ErrTooSoon, http.StatusConflict, "not_erasable", "The order has moved a moment ago."},
	{erasure.ErrHandlersWait, http.StatusConflict, "not_erasable", "Changes of the order wait for a handler of the stream."},
	{erasure.ErrUnreadableDeadLetters, http.StatusConflict, "not_erasable", "Dead letters about the order cannot be read, and may name the person. All but the order itself is erased."},
	{reports.ErrReportsWait, http.StatusConflict, "not_erasable", "A report of the carrier about the order waits."},

	// Jobs.
	{jobs.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{jobs.ErrNotFound, http.StatusNotFound, "job_not_found", "There is no such job."},
	{jobs.ErrState, http.StatusConflict, "job_state", "The job has ended, or is about to."},

	// Slow questions.
	{questions.ErrUnknown, http.StatusNotFound, "question_not_found", "There is no such question."},
	{questions.ErrRuns, http.StatusConflict, "question_runs", "The question is being answered. GET says how far that is."},
	{questions.ErrBusy, http.StatusTooManyRequests, "too_many_questions", "This process answers as many questions as it may. Nothing was begun."},
	{questions.ErrStopped, http.StatusServiceUnavailable, "unavailable", detailUnavailable},

	// Stock.
	{inventory.ErrExpired, http.StatusConflict, "reservation_expired", "The order's reservation has expired. The order may reserve again."},
	{inventory.ErrConflict, http.StatusConflict, "conflict", "The order has reserved other lines, or the same lines until later or without an end."},
	{inventory.ErrOutOfStock, http.StatusConflict, "out_of_stock", "A SKU has fewer pieces than requested. Nothing was reserved."},
	{inventory.ErrClosed, http.StatusConflict, "reservation_closed", "The order's reservation was committed or released before, or never existed."},
	{inventory.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},

	// Claims and locks.
	{once.ErrMismatch, http.StatusConflict, "claim_mismatch", "The key was claimed with another payload."},
	{once.ErrUnknownOutcome, http.StatusConflict, "unknown_outcome", "It is not known whether the work under this key took effect."},
	{once.ErrStaleOwner, http.StatusConflict, "stale_owner", "Another caller holds the claim now, or the ticket is invalid. Your result was not recorded."},
	{once.ErrLeaseExpired, http.StatusConflict, "lease_expired", "The lease has expired."},
	{once.ErrEnded, http.StatusConflict, "claim_ended", "The claim has ended with another outcome."},
	{once.ErrResultUnavailable, http.StatusConflict, "result_unavailable", "The work was done, but its result was not kept."},
	{once.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{once.ErrUnanswered, http.StatusServiceUnavailable, "unavailable", detailUnavailable},

	// One-time actions.
	{actions.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{actions.ErrConflict, http.StatusConflict, "idempotency_key_reused", detailKeyReused},
	{actions.ErrNoKey, http.StatusServiceUnavailable, "not_configured", "The server lacks a key that this request needs."},
	{actions.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", detailUnavailable},

	// Accounts and transfers.
	{ledger.ErrConflict, http.StatusConflict, "conflict", detailIDReused},
	{ledger.ErrInsufficientFunds, http.StatusConflict, "insufficient_funds", "The account has less available than requested. Nothing was moved."},
	{ledger.ErrUnknownAccount, http.StatusNotFound, "account_not_found", "There is no such account."},
	{ledger.ErrAccountClosed, http.StatusConflict, "account_closed", "The account is closed."},
	{ledger.ErrAccountInUse, http.StatusConflict, "account_in_use", "An account with a balance or a hold cannot be closed."},
	{ledger.ErrCurrencyMismatch, http.StatusConflict, "currency_mismatch", "The account has another currency."},
	{ledger.ErrBalanceRange, http.StatusConflict, "balance_range", "The balance would exceed its range."},
	{ledger.ErrUnknownHold, http.StatusNotFound, "hold_not_found", "There is no such hold."},
	{ledger.ErrHoldExpired, http.StatusConflict, "hold_expired", "The hold has expired and cannot be settled."},
	{ledger.ErrHoldExceeded, http.StatusConflict, "hold_exceeded", "The hold has less left than requested."},
	{ledger.ErrHoldClosed, http.StatusConflict, "hold_closed", "The hold was settled or released before."},
	{ledger.ErrReserved, http.StatusUnprocessableEntity, "invalid_request", "The id is one that only the server uses."},
	{ledger.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},

	// Payments.
	{payments.ErrUnknownPayment, http.StatusNotFound, "payment_not_found", "There is no such payment."},
	{payments.ErrDeclined, http.StatusPaymentRequired, "payment_declined", "The processor declined the payment."},
	{payments.ErrVoided, http.StatusConflict, "payment_voided", "The payment was voided before."},
	{payments.ErrConflict, http.StatusConflict, "conflict", detailIDReused},
	{payments.ErrExceeded, http.StatusConflict, "payment_exceeded", "The amount exceeds what can still be captured or refunded, or the payment has too many steps."},
	{payments.ErrState, http.StatusConflict, "payment_state", "The payment's state does not allow it."},
	{payments.ErrBusy, http.StatusConflict, "payment_busy", "Another step of the payment is in progress. Send the request again when it has ended."},
	{payments.ErrUnresolved, http.StatusServiceUnavailable, "unresolved", detailUnresolved},
	{payments.ErrTimeout, http.StatusServiceUnavailable, "unresolved", detailUnresolved},
	{payments.ErrExpired, http.StatusConflict, "payment_state", "The authorization of the payment has expired."},
	{payments.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},
	{payments.ErrNoCallbacks, http.StatusNotFound, "route_not_found", "There is no such route."},
	{payments.ErrCallback, http.StatusUnprocessableEntity, "malformed_callback", "The signature is valid, but the body is not a callback."},

	// Reports of the carrier.
	{reports.ErrNoCallbacks, http.StatusNotFound, "route_not_found", "There is no such route."},
	{reports.ErrCallback, http.StatusUnprocessableEntity, "malformed_callback", ""},
	{reports.ErrUnknownReport, http.StatusNotFound, "report_not_found", "There is no such stored report."},
	{reports.ErrNoAttention, http.StatusConflict, "report_needs_nobody", "The report does not need a person, or not any more."},

	// Shipments, after what orders and claims say.
	{shipping.ErrNotCanceled, http.StatusConflict, "shipment_not_canceled", ""},
	{shipping.ErrCanceled, http.StatusConflict, "shipment_canceled", "The order's shipment was canceled for good. Nothing was booked."},
	{shipping.ErrCanceledByCarrier, http.StatusConflict, "canceled_by_carrier", "The carrier has canceled this shipment, too."},
	{shipping.ErrRefused, http.StatusConflict, "shipment_refused", "The carrier refuses the shipment. Nothing was booked."},
	{reports.ErrNoShipment, http.StatusConflict, "not_to_ship", ""},

	// Executions.
	{executions.ErrHealthy, http.StatusConflict, "execution_healthy", "The execution runs, or has brought its order to an end. Nothing was done."},
	{executions.ErrNotRedrivable, http.StatusConflict, "execution_not_redrivable", "Step Functions refuses to redrive the execution, or there is none. Nothing was done."},

	// Transactions, after the packages that explain their own.
	{txn.ErrItemSize, http.StatusConflict, "item_full", "Something that the request changes would be larger than DynamoDB's 400 KB. Nothing was changed."},
	{txn.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", "The request is about more things than one transaction can change."},

	// Signatures of callbacks.
	{webhooks.ErrMalformed, http.StatusUnauthorized, "signature_refused", detailSignature},
	{webhooks.ErrSignature, http.StatusUnauthorized, "signature_refused", detailSignature},
	{webhooks.ErrTimestamp, http.StatusUnauthorized, "signature_refused", detailSignature},

	// Endpoints and deliveries.
	{notify.ErrNotFound, http.StatusNotFound, "not_found", "There is no such endpoint or delivery."},
	{notify.ErrExists, http.StatusConflict, "endpoint_exists", "There is an endpoint with this id."},
	{notify.ErrDisabled, http.StatusConflict, "endpoint_disabled", "The endpoint is disabled. Enable it first."},
	{notify.ErrConfigured, http.StatusConflict, "endpoint_configured", "The endpoint comes from the configuration and can only be changed there."},
	{notify.ErrTooMany, http.StatusConflict, "too_many_endpoints", notify.ErrTooMany.Error()},
	{notify.ErrShare, http.StatusConflict, "too_many_endpoints", notify.ErrShare.Error()},
	{notify.ErrPending, http.StatusConflict, "delivery_pending", "The delivery is under way."},
	{notify.ErrContended, http.StatusConflict, "contended", "Others are changing this at the same time. Send the request again."},
	{notify.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},

	// Acts.
	{audit.ErrInvalid, http.StatusUnprocessableEntity, "invalid_request", ""},

	// Dead letters.
	{deadletters.ErrNotFound, http.StatusNotFound, "dead_letter_not_found", "There is no such dead letter."},
	{deadletters.ErrRedriving, http.StatusConflict, "redriving", "This dead letter waits to be redriven already."},
	{deadletters.ErrUnreadable, http.StatusConflict, "dead_letter_unreadable", "The change of this dead letter cannot be decoded. It can only be discarded."},
}

// problem returns the problem of err, which matches the row. members are the names in the request, and where each is.
func (d domainError) problem(err error, members map[string]string) *problem {
	p := newProblem(d.status, d.code, d.detail)
	if p.Detail == "" {
		p.Detail = err.Error()
		// What stands before the kind says what was done, with ids as they are stored: with their tenants.
		if _, rule, found := strings.Cut(p.Detail, d.err.Error()+": "); found {
			p.Detail = rule
			p.addFieldOf(rule, members)
		}

		if f := ownFault(nil); errors.As(err, &f) && members["own"] == "body" {
			p = p.withOwn(f)
		}
	}

	if d.status == http.StatusServiceUnavailable {
		return p.retryAfter(1)
	}

	return p
}

// isTransient reports whether err is a failure of the network or of AWS that may pass.
func isTransient(err error) bool {
	var apiError smithy.APIError
	if errors.As(err, &apiError) {
		// Most of these come with status 400, which the SDK takes for a fault of the client.
		switch apiError.ErrorCode() {
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
			"ServiceUnavailable", "TransactionConflictException", "TransactionInProgressException":
			return true
		}

		return apiError.ErrorFault() == smithy.FaultServer
	}

	var netError net.Error

	return errors.As(err, &netError)
}
