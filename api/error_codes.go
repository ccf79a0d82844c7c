package api

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
)

// ErrorCode says what to do about a problem.
type ErrorCode struct {
	Status int
	Code   string
	// Hint is advice for the caller, or for a person.
	Hint string
}

// ErrorsPath is where the server explains its error codes, to everybody. The member type of a problem
// is this path with the code as fragment, relative to the URL of the request.
const ErrorsPath = "/errors"

// errorCodes has every code of the API, grouped by status and subject.
var errorCodes = []ErrorCode{
	{400, "malformed_request", "The request cannot be parsed. Compare it with /openapi.json."},
	{400, "malformed_json", "The body is not one JSON value, or names a member twice. Correct the body."},
	{400, "idempotency_key_missing", "Send an Idempotency-Key: a new one for each new request, the same one for each repeat."},
	{400, "invalid_cursor", "Cursors are those of the answer before, of the same list with the same filters. Begin again without one."},
	{401, "unauthenticated", "Send Authorization: Bearer with a key of `ratchet keys create` that was not revoked, or a token of the issuer that has not expired."},
	{401, "signature_refused", "Sign the bytes of the body with the secret that the server has (callback-secret, carrier-secret), within five minutes of the timestamp."},
	{402, "payment_declined", "The processor's decision is final for this payment. Use another means of payment, under another payment id."},
	{403, "forbidden", "The credential lacks the scope, or the grant for personal data. Ask for a key with it: read, act or admin, --personal."},
	{403, "cross_origin", "A browser has sent the request from another site. Send it from your own server."},
	{403, "invalid_pin", "Ask for the PIN again. Tries are counted, and the action is locked after too many."},
	{404, "route_not_found", "Compare method and path with /openapi.json. A callback route needs its secret in the settings."},
	{404, "not_found", "List endpoints or deliveries to find the right id."},
	{404, "endpoint_not_found", "List endpoints to find the right id."},
	{404, "delivery_not_found", "List the deliveries of the order to find the right id. A delivery is kept for 30 days after it has ended."},
	{404, "order_not_found", "Check the id. Ids belong to the tenant of the credential. An order that is about to be placed can be waited for."},
	{404, "item_not_found", "Read the order: it has no line with this SKU."},
	{404, "sku_not_found", "Set a stock level for the SKU first."},
	{404, "reservation_not_found", "The order has reserved nothing. Reserve first."},
	{404, "action_not_found", "Check the id. Ended actions are deleted after their retention."},
	{404, "claim_not_found", "Nothing is claimed under the key, or its record has expired. Claim it."},
	{404, "lock_not_found", "The lock was not acquired by anybody."},
	{404, "account_not_found", "Create the account first, or check its id."},
	{404, "hold_not_found", "Check the ids of account and hold."},
	{404, "transfer_not_found", "The transfer was not made. It can be sent under this id."},
	{404, "payment_not_found", "The payment was not begun. It can be sent under this id."},
	{404, "parked_task_not_found", "No execution waits there. `ratchet tasks list ORDER` shows the tasks that wait."},
	{404, "handler_not_found", "/v1/stream lists the handlers."},
	{404, "dead_letter_not_found", "It was redriven, discarded or has expired. List the dead letters again."},
	{404, "execution_not_found", "Step Functions has no such execution, or has forgotten it 90 days after its end. Ids belong to the tenant of the credential."},
	{404, "scheduled_not_found", "List the scheduled transitions of the order to find the right id. One that has ended is kept for 30 days."},
	{404, "job_not_found", "List the jobs to find the right id. Ids belong to the tenant of the credential."},
	{404, "question_not_found", "The server was built without this part."},
	{404, "shipment_not_found", "The server was built without this part."},
	{404, "report_not_found", "It was applied or has expired. List the carrier's reports again."},
	{404, "stream_not_found", "The table of orders has no stream. `ratchet doctor` says how to enable it."},
	{404, "status_not_found", "The server was built without this part."},
	{404, "rates_not_found", "The server was built without this part."},
	{404, "counts_not_found", "The server was built without this part."},
	{404, "lists_not_found", "The server keeps no lists of orders. Set `order-lists`, and run `ratchet orders rebuild-lists`."},
	{405, "method_not_allowed", "The header Allow lists the methods of the path."},
	{406, "not_acceptable", "The API answers in JSON only. Drop the header Accept."},
	{408, "body_timeout", "The body arrived too slowly. Send it again."},
	{413, "body_too_large", "Send at most 256 KiB, or 64 KiB to a callback."},
	{415, "unsupported_media_type", "Send Content-Type: application/json, not compressed."},
	{421, "host_not_allowed", "Name the host in the setting allowed-hosts, or use the address of the server."},
	{409, "conflict", "The id was used with other content, and that stays. Read what is stored, or use a new id."},
	{412, "conflict", "If-Match names a version that the order has not reached. Read the order."},
	{409, "superseded", "A newer transition was applied, and this request never was. Do not repeat it: read the order and decide again."},
	{412, "superseded", "The order has changed since you have read it. Read it again and decide again."},
	{409, "wrong_state", "The order is in another state than the event needs: see order and expected. Wait for the state, or stop."},
	{409, "effects_due", "An effect is due that the event would skip: see the detail. Wait for it, or send the request without refuseSkipped."},
	{422, "reason_missing", "Say why in the header Ratchet-Reason, in 1 to 160 bytes. Requests of administrators that change something need it."},
	{422, "illegal", "No order may do this in any state. `ratchet workflow show` prints what orders may do."},
	{409, "unknown_version", "The order is of another version of the definition. Use a server that knows it, or `ratchet workflow migrate`."},
	{409, "order_unreadable", "Another program has changed the order: see the detail. Correct the attribute; `ratchet verify` names all such orders."},
	{409, "evidence_gone", "The order no longer remembers the transition, and no journal has it. Read the order and decide again."},
	{409, "journal_ahead", "One of the two tables was restored, or the order was deleted. `ratchet verify` names such orders, `ratchet orders rebuild` repairs one."},
	{409, "journal_broken", "`ratchet verify` names what does not fit together. Read the order and decide again."},
	{409, "order_full", "The order has reached a bound: see the detail. Remove something, or place another order."},
	{409, "not_erasable", "The order has not ended, or work about it waits: see the detail. Repeat later, or discard the dead letters that cannot be read."},
	{409, "job_open", "One job of a kind is open at a time: see the detail for its id. Wait for its end, or stop it."},
	{409, "question_runs", "Ask GET for the progress. A question is answered once at a time."},
	{409, "scheduled_ended", "Read the scheduled transition: its status, verdict and reason say how it ended. Schedule another one."},
	{409, "time_out_of_range", "Name a time from now on, at most 366 days ahead. For what is to happen at once, request the transition without a time."},
	{409, "too_many_scheduled", "Withdraw some of the order's scheduled transitions, or wait until they have been judged."},
	{409, "order_erased", "The order has ended, and its person was erased. Nothing can be scheduled for it."},
	{409, "job_state", "Read the job: a job that has ended stays so. Create another one."},
	{409, "out_of_stock", "Nothing was reserved. Order less, or wait for stock."},
	{409, "reservation_closed", "The reservation has ended and stays so. Use another order."},
	{409, "reservation_expired", "Reserve again, if the pieces are still wanted."},
	{409, "idempotency_key_reused", "The key was used for another request. Use a new key for a new request."},
	{409, "claim_mismatch", "The key was claimed with another payload. Correct the payload, or use another key."},
	{409, "already_used", "The action was used, at consumedAt. It cannot be used again."},
	{409, "held", "Another holder has the action until heldUntil. Try again then."},
	{409, "hold_lost", "The hold has ended, or another one has taken its place. Reserve the action again."},
	{409, "not_active", "The action can be used from activeAt on."},
	{410, "expired", "The action can no longer be used. Create another one."},
	{410, "canceled", "The action was canceled at canceledAt. Create another one."},
	{423, "locked", "Too many wrong PINs. Create another action."},
	{409, "in_progress", "Another request with the key is being served. Repeat it after Retry-After."},
	{409, "unknown_outcome", "The work may have had its effect. Look, then use `ratchet claims force-release` or another key."},
	{409, "stale_owner", "Another caller has taken the claim over. Stop: your result was not recorded."},
	{409, "lease_expired", "The work took longer than its lease. Claim the key again."},
	{409, "claim_ended", "The claim has another outcome. Read it."},
	{409, "result_unavailable", "The work was done, and its result is gone. Do not repeat the work."},
	{409, "lock_held", "Another holder has acquired the lock, at since. It is never released."},
	{409, "insufficient_funds", "Nothing was moved. Move less, or put money into the account first."},
	{409, "account_closed", "Use another account."},
	{409, "account_in_use", "Move the balance away and release the holds first."},
	{409, "currency_mismatch", "Use accounts of one currency."},
	{409, "balance_range", "The amount is too large for the account. Move less."},
	{409, "hold_expired", "Hold the amount again."},
	{409, "hold_exceeded", "Settle at most what the hold has left."},
	{409, "hold_closed", "The hold was settled or released. Read it."},
	{409, "payment_voided", "Begin another payment."},
	{409, "payment_exceeded", "Read the payment: it says what can be captured and refunded."},
	{409, "payment_state", "Read the payment: its state says which steps are possible."},
	{409, "payment_busy", "Send the same request again when the other step has ended."},
	{409, "redriving", "A redrive of the dead letter runs. Look again in a minute."},
	{409, "dead_letter_unreadable", "The stored change is damaged. `ratchet orders explain` shows the order; discard the dead letter."},
	{409, "task_ended", "The task was answered before, or its execution has ended. `ratchet executions get` says how."},
	{409, "output_refused", "Step Functions refuses the output. Send at most 256 KiB of JSON."},
	{409, "report_needs_nobody", "The report was settled meanwhile. List the carrier's reports again."},
	{409, "shipment_not_canceled", "Another shipment takes the place of a canceled one only. Ask the carrier to cancel it, or cancel the order."},
	{409, "shipment_canceled", "The order has ended. Place another order."},
	{409, "canceled_by_carrier", "Ask the carrier why. The same request without its key books under the next number."},
	{409, "shipment_refused", "Find out what the carrier refuses: the log of the server has its answer."},
	{409, "not_to_ship", "Only a paid order that is not on hold is shipped. `ratchet orders explain` shows where the order is."},
	{409, "execution_healthy", "Nothing has to be done. `ratchet executions get` shows the execution."},
	{409, "execution_not_redrivable", "Repair the order instead: a successor brings it on."},
	{409, "endpoint_exists", "Change the endpoint, or use another id."},
	{409, "endpoint_configured", "The endpoint comes from the setting notify. Change it there."},
	{409, "endpoint_disabled", "Enable the endpoint first."},
	{409, "too_many_endpoints", "Remove endpoints that are no longer used."},
	{409, "delivery_pending", "The delivery is being made. Wait until it was delivered or missed."},
	{409, "item_full", "The thing has reached DynamoDB's bound: see the message in the log. Use a new one, such as another payment."},
	{422, "filter_unsupported", "The detail says which filters go together, and whether the server needs lists of orders (setting order-lists)."},
	{422, "invalid_request", "The member errors lists the fields that break a rule, and the rule. Correct them."},
	{422, "malformed_callback", "The signature is valid, and the body is none that the server knows. Compare it with docs/guides/money.md or docs/guides/shipping.md."},
	{429, "rate_limited", "Wait for Retry-After. The limits are the settings api-rate and api-tenant-rate."},
	{429, "reactions_behind", "The workers' reactions to orders begin too late: `ratchet streams status`. Send the same request again after Retry-After."},
	{429, "too_many_questions", "Wait until another question is answered: /v1/questions shows them."},
	{429, "too_many_watches", "Close event streams of this caller first."},
	{500, "internal", "The log of the server has the cause under the id of the request (X-Request-Id)."},
	{503, "unavailable", "DynamoDB or Step Functions does not answer. Send the same request again after Retry-After."},
	{503, "disk_full", "Nothing was done. Free some space on the disk of the data directory, then send the same request again."},
	{503, "overloaded", "Too many requests are being served. Send the same request again after Retry-After."},
	{503, "timeout", "The request took longer than 15 s, and its outcome is unknown. Send the same request again."},
	{503, "outcome_unknown", "The write was sent without an answer. Send the same request again: its verdict says what happened."},
	{503, "journal_behind", "The reader of the stream is behind: `ratchet streams status`. Send the same request again later."},
	{409, "contended", "Others change the same thing at the same time. Send the same request again."},
	{503, "lists_not_ready", "A worker is building the lists of orders, as `ratchet doctor` says. Ask again later, or without since, until and by."},
	{503, "contended", "Other requests have changed the same thing meanwhile. Send the same request again."},
	{503, "unresolved", "The processor has not reported the outcome. Send the same request again, or wait for its callback."},
	{503, "carrier_unavailable", "The carrier does not answer, and may have booked. Send the same request again: it books once."},
	{503, "not_configured", "The server lacks a secret: see the detail, and the settings action-keys, callback-secret and carrier-secret."},
	{503, "not_ready", "The server starts, stops or cannot reach its data. See its log, or `ratchet doctor`."},
	{503, "audit_unavailable", "Nothing was done, because the act could not be written down. See the log of the server; `ratchet init` creates a missing table."},
}

// ErrorCodes returns every code of the API, once for each status that it comes with. The page of
// ErrorsPath and docs/reference/errors.md show them.
func ErrorCodes() []ErrorCode { return slices.Clone(errorCodes) }

// HintOf returns the first hint of a code, "" if the API does not have it.
func HintOf(code string) string {
	for _, c := range errorCodes {
		if c.Code == code {
			return c.Hint
		}
	}

	return ""
}

// CodeOf returns the code with which the API answers an error of a domain package, "" if the error has
// no code of its own.
func CodeOf(err error) string {
	for _, row := range domainErrors {
		if errors.Is(err, row.err) {
			return row.code
		}
	}

	return ""
}

// errorsPage returns the page of ErrorsPath. It is put together by hand: a program with html/template keeps every method
// of every type (see internal/templates).
func errorsPage() []byte {
	page := bytes.NewBufferString(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Ratchet: error codes</title>
<h1>Error codes</h1>
<dl>`)

	for _, codes := range codesTogether() {
		fmt.Fprintf(page, "\n<dt id=\"%[1]s\"><code>%[1]s</code></dt>", html.EscapeString(codes[0].Code))

		for _, c := range codes {
			fmt.Fprintf(page, "<dd>%d: %s</dd>", c.Status, html.EscapeString(c.Hint))
		}
	}
	page.WriteString("\n</dl></html>\n")

	return page.Bytes()
}

// serveErrors serves the page of ErrorsPath.
func (s *service) serveErrors(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(errorsPage()) // fails only if the client is gone
}

// codesTogether returns the entries of each code, in the order of the codes' first entries: the page has
// one fragment for a code, even if the code comes with several statuses.
func codesTogether() (all [][]ErrorCode) {
	at := map[string]int{}
	for _, c := range errorCodes {
		i, seen := at[c.Code]
		if !seen {
			i = len(all)
			at[c.Code] = i
			all = append(all, nil)
		}

		all[i] = append(all[i], c)
	}

	return all
}
