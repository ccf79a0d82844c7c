package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/streams"
	"ratchet/streams/deadletters"
)

func (s *service) deadLetterRoutes(h huma.API) {
	register(s, h, route{
		id:          "list-dead-letters",
		method:      http.MethodGet,
		path:        "/v1/dead-letters/{handler}",
		tag:         "dead letters",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "List the dead letters of a handler: changes of orders that it gave up on",
		description: "A page may be shorter than the limit, even empty, and have a next one.",
	}, s.listDeadLetters)

	verb := func(id, path, summary, description string, auditParams ...string) route {
		return adminVerb("dead letters", id, http.MethodPost, "/v1/dead-letters/{handler}"+path, summary, description, auditParams...)
	}
	register(s, h, verb("redrive-dead-letters", "/redrive", "Redrive the dead letters of a handler that the body selects, up to the limit",
		"As the redrive of one dead letter, for each of a page. An answer may have fewer letters than the limit, even none, and a next cursor: repeat the request with it until there is none.",
		"handler").mayConflict().withBody(), s.redriveDeadLetters)

	register(s, h, verb("redrive-dead-letter", "/{letter}/redrive", "Redrive a dead letter: let the workers give the change to its handler again",
		"The dead letter is put into a queue. The workers delete it if the handler succeeds. Otherwise it stays, with the new error, and can be redriven again. 409 while it waits in the queue.",
		"handler", "letter").mayConflict(), s.redriveDeadLetter)

	register(s, h, verb("discard-dead-letter", "/{letter}/discard", "Discard a dead letter: its change is never handled", "", "handler", "letter"), s.discardDeadLetter)
}

// deadLetter is a dead letter. It does not show the change itself, which contains the content of
// the order.
type deadLetter struct {
	ID         string     `json:"id"`
	Handler    string     `json:"handler"`
	OrderID    string     `json:"orderId"`
	Error      string     `json:"error" personal:"text" doc:"The error of the last attempt."`
	Permanent  bool       `json:"permanent" doc:"Whether the handler reported that no retry can succeed."`
	Attempts   int        `json:"attempts"`
	Redrives   int        `json:"redrives"`
	FailedAt   time.Time  `json:"failedAt"`
	QueuedAt   *time.Time `json:"queuedAt,omitempty" doc:"When it was queued to be redriven by the workers."`
	Unreadable string     `json:"unreadable,omitempty" personal:"text" doc:"Why the change cannot be decoded: it can only be discarded."`
}

type listDeadLettersInput struct {
	Handler string `path:"handler" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"notify"`
	Order   string `query:"order" maxLength:"128" doc:"Only those about this order."`
	input.Page
}

type listDeadLettersOutput struct {
	Body struct {
		Letters []deadLetter `json:"letters"`
		Next    string       `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

// handler returns the handler with the name. It fails with handler_not_found.
func (s *service) handler(name string) (streams.Handler, error) {
	i := slices.IndexFunc(s.cfg.Handlers, func(h streams.Handler) bool { return h.Name == name })
	if i < 0 {
		return streams.Handler{}, notFound("handler")
	}

	return s.cfg.Handlers[i], nil
}

func (s *service) listDeadLetters(ctx context.Context, c caller, in *listDeadLettersInput) (*listDeadLettersOutput, error) {
	if _, err := s.handler(in.Handler); err != nil {
		return nil, err
	}
	out := &listDeadLettersOutput{}
	var err error
	out.Body.Letters, out.Body.Next, err = listPage(s, in.Page, []string{"letters", string(c.tenant), in.Handler, in.Order},
		func(after string, n int) ([]deadletters.Letter, string, error) {
			return s.cfg.DeadLetters.List(ctx, in.Handler, after, n)
		},
		func(l deadletters.Letter) (deadLetter, bool, error) {
			id, own := c.tenant.ownID(orderIDOf(l))
			own = own && (in.Order == "" || in.Order == id)

			return deadLetter{
				ID:         deadLetterID(l),
				Handler:    l.Handler,
				OrderID:    id,
				Error:      l.Error,
				Permanent:  l.Permanent,
				Attempts:   l.Attempts,
				Redrives:   l.Redrives,
				FailedAt:   l.FailedAt,
				QueuedAt:   optionalTime(l.QueuedAt),
				Unreadable: l.Unreadable,
			}, own, nil
		})

	return out, err
}

// deadLetterID returns the id as callers see it. A stored id has characters that a path cannot have.
func deadLetterID(l deadletters.Letter) string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.ID))
}

// orderIDOf returns the stored id of the order that the dead letter is about, "" if it is unknown.
func orderIDOf(l deadletters.Letter) string {
	id, _ := l.Keys["orderId"].(*types.AttributeValueMemberS)
	if id == nil {
		return ""
	}

	return id.Value
}

// deadLetterRule is the rule of a dead letter's id. An id with # is a part of a large dead letter.
var deadLetterRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[!-"$-~]{1,700}$`) })

type redriveInput struct {
	input.MayBeKeyed
	Handler string `path:"handler" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"notify"`
	Letter  string `path:"letter" minLength:"1" maxLength:"1024" pattern:"^[A-Za-z0-9_-]+$"`
}

type redriveOutput struct {
	input.Repeat
	Body struct {
		Status string `json:"status" enum:"queued"`
	}
}

func (s *service) redriveDeadLetter(ctx context.Context, c caller, in *redriveInput) (*redriveOutput, error) {
	l, err := s.ownDeadLetter(ctx, c, in)
	if err != nil {
		return nil, err
	}

	if err := s.cfg.RetryQueue.Redrive(ctx, in.Handler, l.ID); err != nil {
		return nil, err
	}
	out := &redriveOutput{}
	out.Body.Status = "queued"

	return out, nil
}

type discardOutput struct {
	input.Repeat
	Body struct {
		Status string `json:"status" enum:"discarded"`
	}
}

func (s *service) discardDeadLetter(ctx context.Context, c caller, in *redriveInput) (*discardOutput, error) {
	l, err := s.ownDeadLetter(ctx, c, in)
	if err != nil {
		return nil, err
	}

	if err := s.cfg.DeadLetters.Delete(ctx, in.Handler, l.ID); err != nil {
		return nil, err
	}
	out := &discardOutput{}
	out.Body.Status = "discarded"

	return out, nil
}

// ownDeadLetter returns the dead letter that the request names, if it belongs to the caller's tenant.
func (s *service) ownDeadLetter(ctx context.Context, c caller, in *redriveInput) (deadletters.Letter, error) {
	h, err := s.handler(in.Handler)
	if err != nil {
		return deadletters.Letter{}, err
	}

	id, err := base64.RawURLEncoding.Strict().DecodeString(in.Letter)
	if err != nil || !deadLetterRule().Match(id) {
		return deadletters.Letter{}, notFound("dead_letter")
	}

	l, err := s.cfg.DeadLetters.Get(ctx, h.Name, string(id))
	// An unreadable dead letter comes with an error, and can still be discarded.
	if err != nil && l.Unreadable == "" {
		return deadletters.Letter{}, err
	}

	if _, own := c.tenant.ownID(orderIDOf(l)); !own {
		return deadletters.Letter{}, notFound("dead_letter")
	}

	return l, nil
}
