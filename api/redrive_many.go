package api

import (
	"context"
	"errors"
	"time"

	"ratchet/api/internal/input"
	"ratchet/streams/deadletters"
)

type redriveManyInput struct {
	input.MayBeKeyed
	input.Page
	Handler string `path:"handler" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"notify"`
	Body    struct {
		Since  time.Time `json:"since,omitempty" doc:"Only those that failed at this time or later."`
		Error  string    `json:"error,omitempty" maxLength:"200" doc:"Only those with this text in their error. It needs the grant for personal data."`
		DryRun bool      `json:"dryRun,omitempty" doc:"Select only, and queue none."`
	}
}

// redriven is the result for one dead letter.
type redriven struct {
	ID      string `json:"id"`
	OrderID string `json:"orderId"`
	Result  string `json:"result" enum:"queued,selected,waiting,unreadable" doc:"queued, selected (dryRun), waiting (it was queued before), or unreadable: it can only be discarded."`
}

type redriveManyOutput struct {
	input.Repeat
	Body struct {
		Letters []redriven `json:"letters"`
		Next    string     `json:"next,omitempty" doc:"The cursor with which the next request goes on. Absent at the end."`
	}
}

func (s *service) redriveDeadLetters(ctx context.Context, c caller, in *redriveManyInput) (*redriveManyOutput, error) {
	if _, err := s.handler(in.Handler); err != nil {
		return nil, err
	}

	if p := c.maySearch("body", "/error", in.Body.Error); p != nil {
		return nil, p
	}

	filter := deadletters.Filter{Since: in.Body.Since, Error: in.Body.Error}
	// The cursor is not bound to dryRun: a cursor of a dry run also continues the redrive.
	binding := []string{"redrive", string(c.tenant), in.Handler, filter.Since.UTC().Format(time.RFC3339Nano), filter.Error}
	out := &redriveManyOutput{}
	var err error
	out.Body.Letters, out.Body.Next, err = listPage(s, in.Page, binding,
		func(after string, n int) ([]deadletters.Letter, string, error) {
			return s.cfg.DeadLetters.List(ctx, in.Handler, after, n)
		},
		func(l deadletters.Letter) (redriven, bool, error) {
			id, own := c.tenant.ownID(orderIDOf(l))
			if !own || !filter.Selects(l) {
				return redriven{}, false, nil
			}

			result, err := s.redriveOne(ctx, l, in.Body.DryRun)

			return redriven{ID: deadLetterID(l), OrderID: id, Result: result}, result != "", err
		})

	return out, err
}

// redriveOne puts the dead letter into its handler's queue and returns the result, "" if the dead
// letter is gone.
func (s *service) redriveOne(ctx context.Context, l deadletters.Letter, dryRun bool) (result string, err error) {
	if !dryRun {
		err = s.cfg.RetryQueue.Redrive(ctx, l.Handler, l.ID)
	}

	switch {
	case errors.Is(err, deadletters.ErrUnreadable), l.Unreadable != "":
		return "unreadable", nil
	case errors.Is(err, deadletters.ErrRedriving), dryRun && !l.QueuedAt.IsZero():
		return "waiting", nil
	// Handled or discarded since the page was read.
	case errors.Is(err, deadletters.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case dryRun:
		return "selected", nil
	}

	return "queued", nil
}
