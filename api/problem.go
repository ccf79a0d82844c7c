package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// problem is the body of every error, after RFC 9457. Code is the stable part that programs
// compare. It is never renamed.
type problem struct {
	Type   string `json:"type" doc:"Where the code is explained: a page of this server, relative to the request's URL." format:"uri-reference" example:"/errors#wrong_state"`
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status" doc:"The HTTP status." minimum:"400" maximum:"599"`
	Code   string `json:"code" doc:"What happened, for programs. Never renamed." pattern:"^[a-z_]+$" example:"wrong_state"`
	Detail string `json:"detail,omitempty" doc:"What happened, for people."`
	// Fields lists what is wrong with the request, field by field.
	Fields []fieldProblem `json:"errors,omitempty" doc:"The fields that break a rule."`
	// Order is the current state of the order, if that is the reason.
	Order    *position `json:"order,omitempty" doc:"The current state of the order."`
	Expected []string  `json:"expected,omitempty" doc:"The states in which the request would be possible."`
	// Holder and the times describe the earlier request that excludes this one.
	Holder     string     `json:"holder,omitempty" personal:"text" doc:"Who holds the key."`
	Since      *time.Time `json:"since,omitempty"`
	ConsumedAt *time.Time `json:"consumedAt,omitempty"`
	CanceledAt *time.Time `json:"canceledAt,omitempty"`
	ActiveAt   *time.Time `json:"activeAt,omitempty"`
	ExpiresAt  *time.Time `json:"expiresAt,omitempty"`
	HeldUntil  *time.Time `json:"heldUntil,omitempty"`

	header http.Header
}

// fieldProblem is one rule that a request breaks.
type fieldProblem struct {
	In      string `json:"in" doc:"Where the field is: body, path, query or header."`
	Pointer string `json:"pointer" doc:"The field: a JSON pointer into the body, or the parameter's name." example:"/items/0/quantity"`
	Detail  string `json:"detail" doc:"The rule."`
}

// position is the current state and version of an order.
type position struct {
	State          string `json:"state"`
	TransitionID   int64  `json:"transitionId"`
	ContentVersion int64  `json:"contentVersion"`
}

// Error, GetStatus, GetHeaders and ContentType make a problem an error that huma writes.
func (p *problem) Error() string               { return p.Code + ": " + p.Detail }
func (p *problem) GetStatus() int              { return p.Status }
func (p *problem) GetHeaders() http.Header     { return p.header }
func (p *problem) ContentType(_ string) string { return "application/problem+json" }

func newProblem(status int, code, detail string) *problem {
	return &problem{Type: ErrorsPath + "#" + code, Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

func notFound(what string) *problem {
	return newProblem(http.StatusNotFound, what+"_not_found", "There is no such "+strings.ReplaceAll(what, "_", " ")+".")
}

// internal returns the problem of an error whose cause only the log contains.
func internal() *problem {
	return newProblem(http.StatusInternalServerError, "internal", "The server failed. The request id identifies the failure in its log.")
}

// withHeader sets a header of the response.
func (p *problem) withHeader(name, value string) *problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)

	return p
}

// retryAfter sets how many seconds the client should wait before it sends the same request
// again.
func (p *problem) retryAfter(seconds int) *problem {
	return p.withHeader("Retry-After", strconv.Itoa(seconds))
}

// withField adds a field that breaks a rule.
func (p *problem) withField(in, pointer, detail string) *problem {
	// Some rule is broken, whatever the library says about it.
	detail = cmp.Or(detail, "breaks a rule of its schema")
	p.Fields = append(p.Fields, fieldProblem{In: in, Pointer: pointer, Detail: detail})
	return p
}

// write sends the problem. It is for requests that do not reach huma.
func (p *problem) write(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}

	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // fails only if the client is gone
}

// asProblem returns the problem of a handler's error: the problem that it wraps, or the row
// of domainErrors that it matches, or a 503 for a failure that may pass. It logs any other
// error and answers 500. members are the names in the request, and where each is.
func (s *service) asProblem(ctx context.Context, err error, members map[string]string) *problem {
	if p := (*problem)(nil); errors.As(err, &p) {
		return p
	}

	for _, row := range domainErrors {
		if errors.Is(err, row.err) {
			return row.problem(err, members)
		}
	}

	// This comes after the domain's errors, which say more than a timeout does.
	if ctx.Err() != nil {
		return newProblem(http.StatusServiceUnavailable, "timeout", "The request took too long. Its outcome is unknown: send the same request again.").retryAfter(1)
	}

	if dynamo.DiskFull(err) {
		return newProblem(http.StatusServiceUnavailable, "disk_full", "The disk with the data is full. Nothing was done.").retryAfter(5)
	}

	if isTransient(err) || txn.Retryable(err) {
		return newProblem(http.StatusServiceUnavailable, "unavailable", detailUnavailable).retryAfter(1)
	}

	s.cfg.Log.ErrorContext(ctx, "request failed", "request", callOf(ctx).id, "error", err)

	return internal()
}

// humaCodes are the codes of the errors that huma itself returns, by status.
var humaCodes = map[int]string{
	http.StatusBadRequest:            "malformed_request",
	http.StatusRequestEntityTooLarge: "body_too_large",
	http.StatusUnsupportedMediaType:  "unsupported_media_type",
	http.StatusUnprocessableEntity:   "invalid_request",
	http.StatusNotAcceptable:         "not_acceptable",
}

// humaProblem converts an error of huma. The problem contains no value of the request.
func humaProblem(status int, message string, errs ...error) *problem {
	code, known := humaCodes[status]
	// huma has failed in a way that the request did not cause.
	if !known {
		return internal()
	}

	p := newProblem(status, code, message)
	for _, err := range errs {
		var detail *huma.ErrorDetail
		if !errors.As(err, &detail) {
			continue
		}

		in, pointer := pointerOf(detail.Location)
		text := detail.Message

		if at, found := strings.CutPrefix(text, unfitPrefix); found {
			pointer, text = at, strings.TrimSuffix(unfitPrefix, ": ")
		}

		// The message of the decoder may quote the body.
		if in == "body" && pointer == "" && status != http.StatusUnprocessableEntity {
			text = "must be one JSON value"
		}

		if in == "header" && pointer == idempotencyKey && strings.HasPrefix(text, "required") {
			return newProblem(http.StatusBadRequest, "idempotency_key_missing", "This request needs an Idempotency-Key header: a new key for each new request, the same key for each repeat.")
		}

		// huma's location is the object. The caller needs the name of the member.
		if name, required := missingMember(text); required && in == "body" {
			pointer += "/" + name
		}

		p = p.withField(in, pointer, text)
	}

	if len(p.Fields) == 0 && message == missingBody {
		p = p.withField("body", "", "must be one JSON value")
	}

	return p
}

// missingBody is huma's message about a request without a body.
const missingBody = "request body is required"

// missingMember returns the name in huma's message about a required member that is missing.
func missingMember(text string) (name string, ok bool) {
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	name, begins := strings.CutPrefix(text, before)
	name, ends := strings.CutSuffix(name, after)

	return name, begins && ends
}

// pointerOf converts huma's location "body.items[0].sku" to "body" and "/items/0/sku".
func pointerOf(location string) (in, pointer string) {
	in, rest, nested := strings.Cut(location, ".")
	if in != "body" {
		return in, rest
	}

	if !nested {
		return in, ""
	}

	return in, "/" + toPointer.Replace(rest)
}

// toPointer converts the location of a field within the body to a JSON pointer.
var toPointer = strings.NewReplacer("[", "/", "]", "", ".", "/")
