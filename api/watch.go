package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/transitions"
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
		description: "Server-sent events. The id of an event is the transitionId. After a broken connection the browser sends it as Last-Event-ID and misses nothing. " +
			"The stream ends with event `end` when the order has reached a final state. It ends without one after some minutes: connect again.",
	}, s.watchOrder)
	h.OpenAPI().Paths["/v1/orders/{orderId}/events"].Get.Responses["200"].Content = map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{
			Type:        huma.TypeObject,
			Description: "One event.",
			Properties: map[string]*huma.Schema{
				"event": {Type: huma.TypeString, Enum: []any{"transition", "end"}},
				"id":    {Type: huma.TypeString, Description: "The transitionId."},
				"data":  {Type: huma.TypeString, Description: "JSON: a Transition, or the state in the event end."}},
		}}}
}

type watchInput struct {
	input.Order
	LastEventID string `header:"Last-Event-ID" maxLength:"16" pattern:"^[0-9]{1,16}$" doc:"The id of the last event that arrived."`
}

const (
	eventWriteTimeout = 10 * time.Second // for one event
	heartbeatInterval = 15 * time.Second // keeps proxies from closing an idle stream
	maxMissed         = 1000             // transitions that are read from the journal at once
)

func (s *service) watchOrder(ctx context.Context, c caller, in *watchInput) (*huma.StreamResponse, error) {
	id := c.tenant.orderID(in.OrderID)

	current, err := s.getOwnOrder(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	// A client that comes back may have missed more than the order's ring remembers.
	seen := parseTransitionID(in.LastEventID)
	var missed []transitions.Transition
	if seen > 0 {
		if missed, err = s.cfg.Orders.History(ctx, id, seen, maxMissed); err != nil {
			return nil, err
		}
	}

	opened, p := s.watches.open(id, c.ID, current)
	if p != nil {
		return nil, p
	}

	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer opened.close()

		// An open stream does not count as a request in flight.
		if release := callOf(hc.Context()).release; release != nil {
			release()
		}

		_, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", "text/event-stream")

		ctx, cancel := context.WithTimeout(hc.Context(), s.cfg.WatchFor)
		defer cancel()

		stream := &eventStream{w: w, control: http.NewResponseController(w), seen: seen}
		stream.run(ctx, s, missed, opened)
	}}, nil
}

// eventStream writes server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	seen    transitions.TransitionID // the newest that was written
	err     error                    // of the first failed write; nothing is written after it
}

// run writes the missed transitions and then each new one. It returns when the order has
// reached a final state, when a write fails, when ctx ends, or when the server stops.
func (e *eventStream) run(ctx context.Context, s *service, missed []transitions.Transition, opened *watch) {
	// The request was read completely. Its read deadline must not end the stream.
	_ = e.control.SetReadDeadline(time.Time{})

	e.write(": watching\n\n")
	e.writeTransitions(missed)

	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()

	for e.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.cfg.Draining:
			return
		case <-heartbeat.C:
			e.write(": alive\n\n")
		case order := <-opened.moved:
			e.writeOrder(ctx, s, order)

			if s.definition().Terminal(order.State) {
				e.write(fmt.Sprintf("event: end\ndata: {\"state\":%q}\n\n", order.State))
				return
			}
		}
	}
}

// writeOrder writes the transitions of the order that the client has not seen.
func (e *eventStream) writeOrder(ctx context.Context, s *service, order *transitions.Order) {
	recent := order.Recent()

	// The ring may have dropped transitions that the client has not seen. They are in the
	// journal.
	if _, complete := order.Since(e.seen); e.seen > 0 && !complete {
		if missed, err := s.cfg.Orders.History(ctx, order.ID, e.seen, maxMissed); err == nil {
			e.writeTransitions(missed)
		}
	}

	e.writeTransitions(recent)
}

// writeTransitions writes those that the client has not seen.
func (e *eventStream) writeTransitions(list []transitions.Transition) {
	for _, t := range list {
		if t.ID <= e.seen || e.err != nil {
			continue
		}

		data, err := json.Marshal(showTransition(t))
		if err != nil {
			e.err = err
			return
		}

		e.seen = t.ID
		e.write(fmt.Sprintf("event: transition\nid: %d\ndata: %s\n\n", t.ID, data))
	}
}

func (e *eventStream) write(text string) {
	if e.err != nil {
		return
	}

	// Fails only in tests, which have no connection.
	_ = e.control.SetWriteDeadline(time.Now().Add(eventWriteTimeout))

	if _, e.err = e.w.Write([]byte(text)); e.err == nil {
		e.err = e.control.Flush()
	}
}
