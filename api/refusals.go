package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/inspect"
)

func (s *service) refusalRoutes(h huma.API) {
	register(s, h, route{
		id:          "list-order-refusals",
		method:      http.MethodGet,
		path:        "/v1/orders/{orderId}/refusals",
		tag:         "transitions",
		scope:       auth.Read,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "List what was refused for an order, counted by event and code, oldest first",
		description: "Of the last 7 days, at most eight events and codes: a sample that each server writes, so a count is at least so many.",
	}, s.listRefusals)
}

// refusal counts the refusals of an order with one event and code.
type refusal struct {
	Event  string    `json:"event" doc:"The event that was requested, or the kind of an edit."`
	Code   string    `json:"code" doc:"A verdict, or out-of-stock."`
	Text   string    `json:"text,omitempty" personal:"text" doc:"The text of the newest one."`
	Source string    `json:"source,omitempty" doc:"The way by which the newest one came."`
	Needs  []string  `json:"needs,omitempty" doc:"The states from which the event is legal."`
	Count  int64     `json:"count"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

type listRefusalsOutput struct {
	Body struct {
		Refusals []refusal `json:"refusals"`
		More     int64     `json:"more" doc:"How many other refusals found no room."`
	}
}

func (s *service) listRefusals(ctx context.Context, c caller, in *input.Order) (*listRefusalsOutput, error) {
	order, err := s.getOwnOrder(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	out := &listRefusalsOutput{}
	out.Body.Refusals = []refusal{}
	// A server without the log has noted nothing.
	if s.cfg.Around.Refusals == nil {
		return out, nil
	}

	found, err := s.cfg.Around.Refusals.Of(ctx, string(order.ID))
	if err != nil {
		return nil, err
	}
	out.Body.More = found.More

	for _, r := range found.List {
		out.Body.Refusals = append(out.Body.Refusals, refusal{
			Event: r.Event, Code: r.Code, Text: r.Text, Source: r.Source, Needs: toStrings(inspect.Needed(s.definition(), r)),
			Count: r.Count, First: r.First, Last: r.Last,
		})
	}

	return out, nil
}
