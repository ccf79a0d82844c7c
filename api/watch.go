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
		about: "Server-sent events. The id of an event is the transitionId; after a broken connection the browser sends it as Last-Event-ID and misses nothing. " +
			"The stream ends with event `end` when the order can move no more, and without one after some minutes: connect again.",
	}, s.watchOrder)
	h.OpenAPI().Paths["/v1/orders/{orderId}/events"].Get.Responses["200"].Content = map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{
			Type:        huma.TypeObject,
			Description: "One event.",
			Properties: map[string]*huma.Schema{
				"event": {Type: huma.TypeString, Enum: []any{"transition", "end"}},
				"id":    {Type: huma.TypeString, Description: "The transitionId."},
				"data":  {Type: huma.TypeString, Description: "JSON: a Transition, or at the end the state."}},
		}}}
}

type watchInput struct {
	input.Order
	LastEventID string `header:"Last-Event-ID" maxLength:"16" pattern:"^[0-9]{1,16}$" doc:"The id of the last event that arrived."`
}

const (
	writeWithin = 10 * time.Second // one event
	heartbeat   = 15 * time.Second
)

func (s *service) watchOrder(ctx context.Context, c caller, in *watchInput) (*huma.StreamResponse, error) {
	id := c.tenant.order(in.OrderID)

	first, err := s.find(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	seen := number(in.LastEventID)
	var missed []transitions.Transition
	if seen > 0 {
		if missed, err = s.cfg.Orders.History(ctx, id, seen, 1000); err != nil {
			return nil, err
		}
	}

	w, p := s.watches.open(id, c.ID, first)
	if p != nil {
		return nil, p
	}

	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer w.close()

		_, rw := humago.Unwrap(hc)
		if release := callOf(hc.Context()).release; release != nil {
			release() // who watches does not work
		}
		e := &events{to: rw, control: http.NewResponseController(rw), seen: seen}
		rw.Header().Set("Content-Type", "text/event-stream")
		ctx, cancel := context.WithTimeout(hc.Context(), s.cfg.WatchFor)
		defer cancel()
		e.stream(ctx, s, missed, w)
	}}, nil
}

// events writes server-sent events.
type events struct {
	to      http.ResponseWriter
	control *http.ResponseController
	seen    transitions.TransitionID
	err     error // the first; the client has gone
}

// stream writes what happens until the order is at its end, the client has gone, or
// the time is over.
func (e *events) stream(ctx context.Context, s *service, missed []transitions.Transition, w *watch) {
	_ = e.control.SetReadDeadline(time.Time{}) // a request that has been read whole must not time out
	e.write(": watching\n\n")
	e.transitions(missed)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()

	for e.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.cfg.Draining:
			return
		case <-beat.C:
			e.write(": alive\n\n")
		case o := <-w.moved:
			recent := o.Recent()
			if _, complete := o.Since(e.seen); e.seen > 0 && !complete { // the ring has forgotten some
				if missed, err := s.cfg.Orders.History(ctx, o.ID, e.seen, 1000); err == nil {
					e.transitions(missed)
				}
			}
			e.transitions(recent)

			if s.definition().Terminal(o.State) {
				e.write(fmt.Sprintf("event: end\ndata: {\"state\":%q}\n\n", o.State))
				return
			}
		}
	}
}

// transitions writes those that the client has not seen.
func (e *events) transitions(list []transitions.Transition) {
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

func (e *events) write(text string) {
	if e.err != nil {
		return
	}

	_ = e.control.SetWriteDeadline(time.Now().Add(writeWithin)) // not in a test without a connection
	if _, e.err = e.to.Write([]byte(text)); e.err == nil {
		e.err = e.control.Flush()
	}
}
