package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/internal/input"
	"ratchet/streams"
	"ratchet/transitions"
)

// Replay says which changes of an order are delivered to handlers again.
type Replay struct {
	Order    transitions.OrderID
	Handlers []streams.Handler
	// Again is a new suffix of the effect keys, so that the effects are repeated. If it is "",
	// no effect that has happened is repeated.
	Again string
	// DryRun counts and delivers nothing.
	DryRun bool
}

func (s *service) replayRoutes(h huma.API) {
	register(s, h, adminVerb("stream", "replay-order", http.MethodPost, "/v1/orders/{orderId}/replay", "Deliver the changes of an order to the stream's handlers again",
		"The changes are those that the order and its journal prove. They are put into the handlers' queues, from which the workers deliver them in order; newer changes of the order wait behind them.",
		"orderId").mayConflict().withBody(), s.replayOrder)
}

type replayInput struct {
	input.Order
	input.MayBeKeyed
	Body struct {
		Handler string `json:"handler,omitempty" maxLength:"64" pattern:"^[A-Za-z0-9_-]*$" doc:"Only this handler. Default: all."`
		Again   bool   `json:"again,omitempty" doc:"Repeat notifications that were sent. Without it, effects that have happened are not repeated."`
		DryRun  bool   `json:"dryRun,omitempty" doc:"Count only."`
	}
}

type replayOutput struct {
	input.Repeat
	Body struct {
		Changes int  `json:"changes" doc:"Changes that the order and its journal prove."`
		Queued  int  `json:"queued" doc:"Deliveries, over all handlers. With dryRun: those that would be queued."`
		Lost    bool `json:"lost" doc:"Whether there were older changes that nothing proves."`
	}
}

func (s *service) replayOrder(ctx context.Context, c caller, in *replayInput) (*replayOutput, error) {
	if s.cfg.Replay == nil {
		return nil, notFound("stream")
	}

	o, err := s.getOwnOrder(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	r := Replay{Order: o.ID, Handlers: s.cfg.Handlers, DryRun: in.Body.DryRun}
	if in.Body.Handler != "" {
		one, err := s.handler(in.Body.Handler)
		if err != nil {
			return nil, err
		}
		r.Handlers = []streams.Handler{one}
	}

	if in.Body.Again {
		// With a new suffix of the effect keys, the far side takes the effects for new ones.
		r.Again = streams.NewAgain()
	}

	count, err := s.cfg.Replay(ctx, r)
	if err != nil {
		return nil, err
	}
	out := &replayOutput{}
	out.Body.Changes, out.Body.Queued, out.Body.Lost = count.Versions, count.Queued, count.Lost > 0

	return out, nil
}
