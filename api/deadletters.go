package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/store"
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

	register(s, h, route{
		id:          "list-all-dead-letters",
		method:      http.MethodGet,
		path:        "/v1/dead-letters",
		tag:         "dead letters",
		scope:       auth.Admin,
		status:      http.StatusOK,
		summary:     "List the dead letters of all handlers, one handler after the other",
		description: "A page may be shorter than the limit, even empty, and have a next one.",
	}, s.listAllDeadLetters)
	register(s, h, route{
		id:          "get-dead-letter",
		method:      http.MethodGet,
		path:        "/v1/dead-letters/{handler}/{letter}",
		tag:         "dead letters",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Read a dead letter with the change that was not handled",
		description: "The images are the order's items before and after the change, whole, in DynamoDB's JSON: only callers with the grant for personal data get them.",
	}, s.getDeadLetter)

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

	// Only in the answer about one letter.
	Change       string `json:"change,omitempty" doc:"INSERT, MODIFY or REMOVE. Absent in lists, and if the change cannot be decoded."`
	TransitionID int64  `json:"transitionId,omitempty" doc:"The transition that the change has made. Absent in lists, and if it has made none."`
	Old          any    `json:"old,omitempty" personal:"text" doc:"The item before the change. Absent in lists, and without the grant for personal data."`
	New          any    `json:"new,omitempty" personal:"text" doc:"The item after the change. Absent in lists, and without the grant for personal data."`
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
			return s.dead(ctx, in.Handler, c.tenant, in.Order, after, n)
		},
		func(l deadletters.Letter) (deadLetter, bool, error) { return s.showDeadLetter(c, l) })

	return out, err
}

type listAllDeadLettersInput struct {
	Order string `query:"order" maxLength:"128" doc:"Only those about this order."`
	input.Page
}

// listAllDeadLetters lists the letters of the handlers in the order of their names. A position is the name of a
// handler, a space and the id of its last letter.
func (s *service) listAllDeadLetters(ctx context.Context, c caller, in *listAllDeadLettersInput) (*listDeadLettersOutput, error) {
	var names []string
	for _, h := range s.cfg.Handlers {
		names = append(names, h.Name)
	}
	slices.Sort(names)

	out := &listDeadLettersOutput{}
	var err error
	out.Body.Letters, out.Body.Next, err = listPage(s, in.Page, []string{"all-letters", string(c.tenant), in.Order},
		func(position string, n int) ([]deadletters.Letter, string, error) {
			handler, after, _ := strings.Cut(position, " ")

			i, _ := slices.BinarySearch(names, handler)
			if i == len(names) {
				return nil, "", nil
			}

			// A handler that has been removed since the page before has no letters to go on with.
			if names[i] != handler {
				after = ""
			}

			letters, next, err := s.dead(ctx, names[i], c.tenant, in.Order, after, n)
			switch {
			case next != "":
				next = names[i] + " " + next
			case i+1 < len(names):
				next = names[i+1] + " "
			}

			return letters, next, err
		},
		func(l deadletters.Letter) (deadLetter, bool, error) { return s.showDeadLetter(c, l) })

	return out, err
}

// dead returns a page of a handler's dead letters, of one order if it is not "".
func (s *service) dead(ctx context.Context, handler string, t tenant, order, after string, n int) ([]deadletters.Letter, string, error) {
	if order != "" {
		return s.cfg.DeadLetters.OfItem(ctx, handler, s.cfg.Orders.Mapping().ItemKey(t.orderID(order)), after, n)
	}

	return s.cfg.DeadLetters.List(ctx, handler, after, n)
}

type getDeadLetterInput struct {
	Handler string `path:"handler" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"notify"`
	Letter  string `path:"letter" minLength:"1" maxLength:"1024" pattern:"^[A-Za-z0-9_-]+$"`
}

type getDeadLetterOutput struct {
	Body deadLetter
}

func (s *service) getDeadLetter(ctx context.Context, c caller, in *getDeadLetterInput) (*getDeadLetterOutput, error) {
	l, err := s.ownDeadLetter(ctx, c, &redriveInput{Handler: in.Handler, Letter: in.Letter})
	if err != nil {
		return nil, err
	}

	shown, _, _ := s.showDeadLetter(c, l)
	out := &getDeadLetterOutput{shown}

	if l.Record == nil {
		return out, nil
	}
	out.Body.Change = string(l.Record.EventName)

	if change, moved, err := s.cfg.Orders.Mapping().FromRecord(l.Record.Old, l.Record.New); err == nil && moved {
		out.Body.TransitionID = int64(change.Transition.ID)
	}

	if c.Personal {
		out.Body.Old, out.Body.New, err = store.Images(*l.Record)
	}

	return out, err
}

// showDeadLetter returns a dead letter as the caller may see it. It reports false for another tenant's.
func (s *service) showDeadLetter(c caller, l deadletters.Letter) (deadLetter, bool, error) {
	id, own := c.tenant.ownID(s.orderIDOf(l))

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
}

// deadLetterID returns the id as callers see it. A stored id has characters that a path cannot have.
func deadLetterID(l deadletters.Letter) string { return encodedID(l.ID) }

// encodedID returns a stored id in characters that a path can have, "" for none.
func encodedID(stored string) string { return base64.RawURLEncoding.EncodeToString([]byte(stored)) }

// orderIDOf returns the stored id of the order that the dead letter is about, "" if it is unknown.
func (s *service) orderIDOf(l deadletters.Letter) string {
	id, _ := s.cfg.Orders.Mapping().OrderOf(l.Keys)

	return string(id)
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

	if _, own := c.tenant.ownID(s.orderIDOf(l)); !own {
		return deadletters.Letter{}, notFound("dead_letter")
	}

	return l, nil
}
