package idempotency

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// problem is an answer that the middleware itself gives (RFC 9457). The HTTP API of package
// api uses the same statuses and codes for the same events.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Code   string `json:"code"`

	retryAfter int // seconds, 0 for none
}

// The answers to requests whose handler does not run, or whose response is gone.
var (
	keyMissing = problem{
		Status: http.StatusBadRequest,
		Code:   "idempotency_key_missing",
		Title:  "Idempotency-Key is missing",
		Detail: "This operation needs the header field Idempotency-Key with a value that is unique to the operation, such as a UUID.",
	}
	keyMalformed = problem{
		Status: http.StatusBadRequest,
		Code:   "idempotency_key_malformed",
		Title:  "Idempotency-Key cannot be read",
	}
	keyExpired = problem{
		Status: http.StatusBadRequest,
		Code:   "idempotency_key_expired",
		Title:  "Idempotency-Key has expired",
		Detail: "The end that the key carries has passed. A new operation needs a new key.",
	}
	callerUnknown = problem{
		Status: http.StatusUnauthorized,
		Code:   "caller_unknown",
		Title:  "The caller is not known",
	}
	keyReused = problem{
		Status: http.StatusConflict,
		Code:   "idempotency_key_reused",
		Title:  "Idempotency-Key is already used",
		Detail: "Another request had this key. A retry must be equal to the first request; another operation needs another key.",
	}
	inProgressProblem = problem{
		Status: http.StatusConflict,
		Code:   "in_progress",
		Title:  "A request is outstanding for this Idempotency-Key",
		Detail: "Repeat the request after the time in Retry-After.",
	}
	outcomeUnknown = problem{
		Status: http.StatusConflict,
		Code:   "unknown_outcome",
		Title:  "The outcome of the first request is unknown",
		Detail: "It is being looked into. Do not use another key for the same operation.",
	}
	responseLost = problem{
		Status: http.StatusConflict,
		Code:   "result_unavailable",
		Title:  "The operation was done, its response was not kept",
	}
	// requestUnreadable rarely reaches a client: its connection has broken.
	requestUnreadable = problem{
		Status: http.StatusBadRequest,
		Code:   "request_unreadable",
		Title:  "The request's body cannot be read",
	}
	storeUnavailable = problem{
		Status:     http.StatusServiceUnavailable,
		Code:       "unavailable",
		Title:      "Keys cannot be checked now",
		Detail:     "Repeat the request with the same key.",
		retryAfter: 1,
	}
)

func requestTooLarge(limit int) problem {
	return problem{
		Status: http.StatusRequestEntityTooLarge,
		Code:   "body_too_large",
		Title:  "The request's body is too large",
		Detail: fmt.Sprintf("At most %d bytes.", limit),
	}
}

func responseTooLarge(limit int) problem {
	return problem{
		Status: http.StatusInternalServerError,
		Code:   "response_too_large",
		Title:  "The operation was done, its response is too large",
		Detail: fmt.Sprintf("A response to a request with a key has at most %d bytes.", limit),
	}
}

// problemResponse returns a problem as a response.
func (c *Config) problemResponse(p problem) *response {
	r := &response{Status: p.Status, Header: http.Header{
		"Content-Type":  {"application/problem+json"},
		"Cache-Control": {"no-store"},
	}}
	if p.Type = "about:blank"; c.Docs != "" {
		p.Type = c.Docs + "#" + p.Code
		r.Header.Set("Link", "<"+c.Docs+`>; rel="describedby"; type="text/html"`)
	}

	if p.retryAfter > 0 {
		r.Header.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	r.Body, _ = json.Marshal(p) // strings and numbers never fail

	return r
}
