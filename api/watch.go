package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
)

func (s *service) watchRoutes(h huma.API) {
	register(s, h, route{
		id:      "watch-order",
		method:  http.MethodGet,
		path:    "/v1/orders/{orderId}/events",
		tag:     "transitions",
		scope:   auth.Read,
		streams: true,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Watch an order: one event per transition",
		description: "Server-sent events. The id of an event is the transitionId. A stream begins with the newest transitions. After a broken connection the browser sends the " +
			"id as Last-Event-ID, and the stream continues after it. It leaves out a transition only if neither the order nor the journal has its record, after it has waited for the journal. " +
			"The event `gap` then says between which ids. The stream ends with event `end` when the order has reached a final state, and with event `interrupted` when the order " +
			"cannot be read or the credential is not valid any more. It ends without an event after some minutes: connect again. HEAD opens no stream.",
	}, s.watchOrder)
	describe(h, func(doc *huma.OpenAPI) {
		doc.Paths["/v1/orders/{orderId}/events"].Get.Responses["200"].Content = map[string]*huma.MediaType{
			"text/event-stream": {Schema: &huma.Schema{
				Type:        huma.TypeObject,
				Description: "One event.",
				Properties: map[string]*huma.Schema{
					"event": {Type: huma.TypeString, Enum: []any{"transition", "gap", "end", "interrupted"}},
					"id":    {Type: huma.TypeString, Description: "The transitionId."},
					"data":  {Type: huma.TypeString, Description: "JSON: a Transition; after and before in the event gap; the state in the event end; a code in the event interrupted."}},
			}}}
	})
}

type watchInput struct {
	input.Order
	LastEventID string `header:"Last-Event-ID" maxLength:"16" pattern:"^[0-9]{1,16}$" doc:"The id of the last event that arrived."`
}

func (s *service) watchOrder(ctx context.Context, c caller, in *watchInput) (*huma.StreamResponse, error) {
	current, err := s.getOwnOrder(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	call := callOf(ctx)
	// HEAD wants only the header, so no watch is opened.
	if call.head {
		return &huma.StreamResponse{Body: func(hc huma.Context) { hc.SetHeader("Content-Type", "text/event-stream") }}, nil
	}

	// The watch is opened here and not in the body, so that a refusal is still a problem with a
	// status.
	opened, p := s.watches.open(c.tenant.orderID(in.OrderID), party{c.ID, string(c.Tenant)}, current)
	if p != nil {
		return nil, p
	}

	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer opened.close()

		// An open stream does not count as a request in flight.
		if call.release != nil {
			call.release()
		}

		_, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", "text/event-stream")

		ctx, cancel := context.WithTimeout(hc.Context(), s.cfg.WatchFor)
		defer cancel()

		stream := &eventStream{
			s:       s,
			w:       w,
			control: http.NewResponseController(w),
			caller:  c,
			valid:   s.validity(c, call),
			seen:    parseTransitionID(in.LastEventID),
		}
		stream.run(ctx, opened)
	}}, nil
}
