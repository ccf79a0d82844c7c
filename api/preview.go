package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (s *service) previewRoutes(h huma.API) {
	register(s, h, route{
		id:      "preview-transition",
		method:  http.MethodGet,
		path:    "/v1/orders/{orderId}/preview",
		tag:     "transitions",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Say how a transition would be answered now, without applying it",
		description: "A look at one moment: the order was read once, and nothing was written. Another request may come first, so the same request may be answered otherwise later. " +
			"The verdict Applied says that the order as it was read would take the request, as far as its guards need no values of the caller.",
	}, s.previewTransition)
}

type previewInput struct {
	input.Order
	Event        string `query:"event" required:"true" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"pay" doc:"The event."`
	From         string `query:"from" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" doc:"Only from this state."`
	TransitionID int64  `query:"transitionId" minimum:"2" maximum:"9007199254740991" doc:"The id of the transition. Default: the order's next."`
	Effects      bool   `query:"effects" doc:"Say also which effects that are due the event would skip. It costs several reads."`
}

type previewOutput struct {
	Body preview
}

// preview is how a request would be answered.
type preview struct {
	Verdict      string    `json:"verdict" enum:"Applied,Replayed,Superseded,WrongState,Conflict,Illegal" doc:"What the request would be answered. Applied: the order as it was read would take it."`
	At           time.Time `json:"at" doc:"When the order was read."`
	State        string    `json:"state" doc:"The state of the order as it was read."`
	TransitionID int64     `json:"transitionId" doc:"The newest transition of the order as it was read."`
	To           string    `json:"to,omitempty" doc:"Where the transition leads, or has led."`
	Next         int64     `json:"next,omitempty" doc:"The id that the transition would get, or has."`
	Needs        []string  `json:"needs,omitempty" doc:"The states from which the event is legal."`
	Reason       string    `json:"reason,omitempty" doc:"Why the order refuses the event although it is in one of these states, like the guards that do not hold."`
	Skips        []string  `json:"skips,omitempty" doc:"The effects that are due and that the event would skip, in words. Only with effects, and of an event that would be applied."`
}

func (s *service) previewTransition(ctx context.Context, c caller, in *previewInput) (*previewOutput, error) {
	at := time.Now().UTC()

	r := transitions.Request{
		OrderID:      c.tenant.orderID(in.OrderID),
		Event:        workflow.Event(in.Event),
		From:         workflow.State(in.From),
		TransitionID: transitions.TransitionID(in.TransitionID),
	}

	result, err := s.cfg.Orders.Preview(ctx, r)
	if err != nil {
		return nil, err
	}

	if result.Verdict == transitions.NotFound || result.Order == nil {
		return nil, notFound("order")
	}

	out := &previewOutput{preview{
		Verdict: result.Verdict.String(), At: at,
		State: string(result.Order.State), TransitionID: int64(result.Order.TransitionID),
		To: string(result.Transition.To), Next: int64(result.Transition.ID),
		Needs: toStrings(result.Expected), Reason: result.Reason,
	}}

	if !in.Effects || result.Verdict != transitions.Applied || s.cfg.DueBefore == nil {
		return out, nil
	}

	skipped, err := s.cfg.DueBefore(ctx, r.OrderID, r.Event, func(*transitions.Order) bool { return false })
	for _, due := range skipped {
		out.Body.Skips = append(out.Body.Skips, c.tenant.ownWords(due.What))
	}

	return out, err
}
