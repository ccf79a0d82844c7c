package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/streams"
)

func (s *service) deadLetterRoutes(h huma.API) {
	register(s, h, route{
		id:      "list-dead-letters",
		method:  http.MethodGet,
		path:    "/v1/dead-letters/{handler}",
		tag:     "dead letters",
		scope:   auth.Admin,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "List changes of orders that a handler gave up on",
		about:   "A page may be short and still have a successor.",
	}, s.listLetters)
	register(s, h, route{
		id:      "redrive-dead-letter",
		method:  http.MethodPost,
		path:    "/v1/dead-letters/{handler}/{letter}/redrive",
		tag:     "dead letters",
		scope:   auth.Admin,
		changes: true,
		target:  []string{"handler", "letter"},
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound, http.StatusConflict},
		summary: "Hand a change to its handler again",
		about:   "The letter is gone when the handler has done its part; else it stays, with the new error.",
	}, s.redriveLetter)
}

// letter is a change that a handler gave up on. The change itself, with what people
// wrote into the order, is not shown.
type letter struct {
	ID        string    `json:"id"`
	Handler   string    `json:"handler"`
	OrderID   string    `json:"orderId"`
	Error     string    `json:"error" doc:"What the last attempt returned."`
	Permanent bool      `json:"permanent" doc:"The handler said that no repeat can mend it."`
	Attempts  int       `json:"attempts"`
	Redrives  int       `json:"redrives"`
	FailedAt  time.Time `json:"failedAt"`
}

type listLettersInput struct {
	Handler string `path:"handler" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"notify"`
	input.Page
}

type listLettersOutput struct {
	Body struct {
		Letters []letter `json:"letters"`
		Next    string   `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) handler(name string) (streams.Handler, error) {
	i := slices.IndexFunc(s.cfg.Handlers, func(h streams.Handler) bool { return h.Name == name })
	if i < 0 {
		return streams.Handler{}, notFound("handler")
	}

	return s.cfg.Handlers[i], nil
}

func (s *service) listLetters(ctx context.Context, c caller, in *listLettersInput) (*listLettersOutput, error) {
	if _, err := s.handler(in.Handler); err != nil {
		return nil, err
	}
	out := &listLettersOutput{}
	var err error
	out.Body.Letters, out.Body.Next, err = fill(s, in.Page, []string{"letters", string(c.tenant), in.Handler},
		func(after string, n int) ([]streams.DeadLetter, string, error) {
			return s.cfg.DeadLetters.List(ctx, in.Handler, after, n)
		},
		func(l streams.DeadLetter) (letter, bool, error) {
			if l.Record == nil { // too large for the list
				var err error
				if l, err = s.cfg.DeadLetters.Get(ctx, in.Handler, l.ID); err != nil {
					return letter{}, false, err
				}
			}
			id, own := c.tenant.own(orderOf(l))

			return letter{base64.RawURLEncoding.EncodeToString([]byte(l.ID)), l.Handler, id, l.Error, l.Permanent, l.Attempts, l.Redrives, l.FailedAt}, own, nil
		})

	return out, err
}

// orderOf is the stored id of the order that a letter is about.
func orderOf(l streams.DeadLetter) string {
	if l.Record == nil {
		return ""
	}

	id, _ := l.Record.Keys["orderId"].(*types.AttributeValueMemberS)
	if id == nil {
		return ""
	}

	return id.Value
}

// letterRule keeps out what is no letter's id: # begins the parts of a letter.
var letterRule = regexp.MustCompile(`^[!-"$-~]{1,700}$`)

type redriveInput struct {
	Handler string `path:"handler" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"notify"`
	Letter  string `path:"letter" minLength:"1" maxLength:"1024" pattern:"^[A-Za-z0-9_-]+$"`
}

type redriveOutput struct {
	Body struct {
		Status string `json:"status" enum:"handled"`
	}
}

func (s *service) redriveLetter(ctx context.Context, c caller, in *redriveInput) (*redriveOutput, error) {
	h, err := s.handler(in.Handler)
	if err != nil {
		return nil, err
	}

	id, err := base64.RawURLEncoding.Strict().DecodeString(in.Letter)
	if err != nil || !letterRule.Match(id) {
		return nil, notFound("dead_letter")
	}

	l, err := s.cfg.DeadLetters.Get(ctx, h.Name, string(id))
	if err != nil {
		return nil, err
	}

	if _, own := c.tenant.own(orderOf(l)); !own {
		return nil, notFound("dead_letter")
	}

	if err := s.cfg.DeadLetters.Redrive(ctx, l.ID, h, nil); err != nil {
		if known := s.asProblem(ctx, err, nil); known.Status != http.StatusInternalServerError {
			return nil, known
		}
		return nil, newProblem(http.StatusConflict, "redrive_failed", "The handler failed again. The letter stays, with the new error.")
	}
	out := &redriveOutput{}
	out.Body.Status = "handled"

	return out, nil
}
