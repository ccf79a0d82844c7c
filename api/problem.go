package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"ratchet/txn"
)

// problem is every answer that is no success, after RFC 9457. Code is the stable part
// that programs look at; it is never renamed.
type problem struct {
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status" doc:"The HTTP status." minimum:"400" maximum:"599"`
	Code   string `json:"code" doc:"What happened, for programs. Never renamed." pattern:"^[a-z_]+$" example:"wrong_state"`
	Detail string `json:"detail,omitempty" doc:"What happened, for people."`
	// Fields says what is wrong with the request, field by field.
	Fields []fieldProblem `json:"errors,omitempty" doc:"The fields that break a rule."`
	// Order is where the order stands, when that is the reason.
	Order    *position `json:"order,omitempty" doc:"Where the order stands now."`
	Expected []string  `json:"expected,omitempty" doc:"States in which it would have been possible."`
	// Holder and the times say who or what was faster.
	Holder     string     `json:"holder,omitempty" doc:"Who has it."`
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

// position is where an order stands.
type position struct {
	State          string `json:"state"`
	TransitionID   int64  `json:"transitionId"`
	ContentVersion int64  `json:"contentVersion"`
}

func (p *problem) Error() string               { return p.Code + ": " + p.Detail }
func (p *problem) GetStatus() int              { return p.Status }
func (p *problem) GetHeaders() http.Header     { return p.header }
func (p *problem) ContentType(_ string) string { return "application/problem+json" }

func newProblem(status int, code, detail string) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

func notFound(what string) *problem {
	return newProblem(http.StatusNotFound, what+"_not_found", "There is no such "+strings.ReplaceAll(what, "_", " ")+".")
}

// with adds a header.
func (p *problem) with(name, value string) *problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)

	return p
}

// later says after how many seconds the same request may be sent again.
func (p *problem) later(seconds int) *problem { return p.with("Retry-After", strconv.Itoa(seconds)) }

func (p *problem) field(in, pointer, detail string) *problem {
	p.Fields = append(p.Fields, fieldProblem{in, pointer, detail})
	return p
}

// write answers with the problem outside of huma.
func (p *problem) write(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client's trouble
}

// internal hides what went wrong from the caller.
func internal() *problem {
	return newProblem(http.StatusInternalServerError, "internal", "Something went wrong on our side. The request id names it in our log.")
}

// asProblem finds the problem in an error of a handler; what is none is looked up in
// the table, and what is not there is ours to look at. members are the body's.
func (s *service) asProblem(ctx context.Context, err error, members map[string]bool) *problem {
	if p := (*problem)(nil); errors.As(err, &p) {
		return p
	}

	for _, known := range knownErrors {
		if errors.Is(err, known.err) {
			p := newProblem(known.status, known.code, known.detail)
			if p.Detail == "" {
				p.Detail = err.Error()
				p.blame(known.err, members)
			}

			if known.status == http.StatusServiceUnavailable {
				return p.later(1)
			}

			return p
		}
	}

	if ctx.Err() != nil {
		return newProblem(http.StatusServiceUnavailable, "timeout", "The work took too long; the outcome is unknown. Send the same request again.").later(1)
	}

	if unavailable(err) || txn.Retryable(err) {
		return newProblem(http.StatusServiceUnavailable, "unavailable", "The data store does not answer. Send the same request again.").later(1)
	}
	s.cfg.Log.ErrorContext(ctx, "request failed", "request", callOf(ctx).id, "error", err)

	return internal()
}

// humaProblem makes huma's own errors ours: no value of the request is echoed.
func humaProblem(status int, message string, errs ...error) *problem {
	codes := map[int]string{http.StatusBadRequest: "malformed_request", http.StatusRequestEntityTooLarge: "body_too_large",
		http.StatusUnsupportedMediaType: "unsupported_media_type", http.StatusUnprocessableEntity: "invalid_request", http.StatusNotAcceptable: "not_acceptable"}

	code, known := codes[status]
	if !known {
		return internal()
	}

	p := newProblem(status, code, message)
	for _, err := range errs {
		detail := (*huma.ErrorDetail)(nil)
		if !errors.As(err, &detail) {
			continue
		}

		in, pointer := pointerOf(detail.Location)
		text := detail.Message
		if at, found := strings.CutPrefix(text, unfit); found {
			pointer, text = at, strings.TrimSuffix(unfit, ": ")
		}

		if in == "body" && pointer == "" && status != http.StatusUnprocessableEntity {
			text = "must be one JSON value" // the decoder's message may quote the body
		}

		if in == "header" && pointer == idempotencyKey && strings.HasPrefix(text, "required") {
			return newProblem(http.StatusBadRequest, "idempotency_key_missing", "This request needs an Idempotency-Key header: a new one for each new request, the same one for each repeat.")
		}

		if name, required := missing(text); required && in == "body" {
			pointer += "/" + name
		}
		p = p.field(in, pointer, text)
	}

	return p
}

// missing reads the name of a required member out of huma's message.
func missing(text string) (name string, ok bool) {
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	name, begins := strings.CutPrefix(text, before)
	name, ends := strings.CutSuffix(name, after)
	return name, begins && ends
}

// pointerOf turns huma's "body.items[0].sku" into "body", "/items/0/sku".
func pointerOf(location string) (in, pointer string) {
	in, rest, nested := strings.Cut(location, ".")
	if in != "body" {
		return in, rest
	}

	if !nested {
		return in, ""
	}
	rest = strings.NewReplacer("[", "/", "]", "").Replace(rest)

	return in, "/" + strings.ReplaceAll(rest, ".", "/")
}
