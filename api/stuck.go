package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/executions"
	"ratchet/operate/processes"
	"ratchet/transitions"
)

func (s *service) stuckRoutes(h huma.API) {
	register(s, h, route{
		id:      "list-stuck-orders",
		method:  http.MethodGet,
		path:    "/v1/stuck-orders",
		tag:     "executions",
		scope:   auth.Admin,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "List the orders that need a person, as the newest survey has found them",
		description: "By their ids, at most 1,000 of each kind. An order may have moved since: read it again before you act. The workers survey the orders every hour, " +
			"unless the setting stuck-every says otherwise or there are more than 100,000 orders, and when the default tenant asks the question survey.",
	}, s.listStuck)

	register(s, h, route{
		id:          "get-stuck-order",
		method:      http.MethodGet,
		path:        "/v1/stuck-orders/{orderId}",
		tag:         "executions",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Say whether an order needs a person now",
		description: "The order is looked at again: one read, and a description of each of its executions.",
	}, s.getStuck)
}

// stuckOrder is an order that needs a person.
type stuckOrder struct {
	OrderID  string     `json:"orderId"`
	Kind     string     `json:"kind" enum:"failed,ended,missing,overdue,lost_parcel,unreadable,unknown_version"`
	State    string     `json:"state,omitempty"`
	Since    *time.Time `json:"since,omitempty" doc:"Since when."`
	Cause    string     `json:"cause" personal:"text"`
	Next     string     `json:"next,omitempty" doc:"The command to try first."`
	Commands []string   `json:"commands" doc:"What makes the order move again."`
	FoundAt  time.Time  `json:"foundAt" doc:"When the look began that has found it."`
}

func (t tenant) showStuck(o processes.StuckOrder) (stuckOrder, bool) {
	id, own := t.ownID(o.OrderID)

	shown := stuckOrder{
		OrderID: id, Kind: o.Kind, State: o.State, Since: optionalTime(o.Since), Cause: t.ownWords(o.Cause), Commands: []string{}, FoundAt: o.FoundAt,
	}
	for _, command := range o.Commands {
		shown.Commands = append(shown.Commands, t.ownWords(command))
	}

	if len(shown.Commands) > 0 {
		shown.Next = shown.Commands[0]
	}

	return shown, own
}

type listStuckOutput struct {
	Body struct {
		Orders    []stuckOrder `json:"orders"`
		Next      string       `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
		CountedAt *time.Time   `json:"countedAt,omitempty" doc:"When the newest survey began. Absent before the first one."`
		Skipped   string       `json:"skipped,omitempty" doc:"Why the newest survey has counted nothing."`
	}
}

func (s *service) listStuck(ctx context.Context, c caller, in *input.Page) (*listStuckOutput, error) {
	if s.cfg.Processes == nil {
		return nil, notFound("status")
	}

	survey, known, err := s.cfg.Processes.NewestSurvey(ctx)
	if err != nil {
		return nil, err
	}

	out := &listStuckOutput{}
	out.Body.Skipped = survey.Skipped
	// A survey that was skipped has not looked: what the one before it has found ends by itself.
	if known && survey.Skipped == "" {
		out.Body.CountedAt = optionalTime(survey.At)
	} else {
		survey.At = time.Time{}
	}

	out.Body.Orders, out.Body.Next, err = listPage(s, *in, []string{"stuck", string(c.tenant)},
		func(after string, n int) ([]processes.StuckOrder, string, error) {
			return s.cfg.Processes.Stuck(ctx, c.tenant.owner(), survey.At, after, n)
		},
		func(o processes.StuckOrder) (stuckOrder, bool, error) {
			shown, own := c.tenant.showStuck(o)
			return shown, own, nil
		})

	return out, err
}

type getStuckOutput struct {
	Body struct {
		Stuck []stuckOrder `json:"stuck" doc:"Empty if the order needs nobody now."`
	}
}

func (s *service) getStuck(ctx context.Context, c caller, in *input.Order) (*getStuckOutput, error) {
	if s.cfg.Executions == nil {
		return nil, notFound("status")
	}

	id, now := c.tenant.orderID(in.OrderID), time.Now().UTC()
	if _, err := s.getOwnOrder(ctx, c, in.OrderID); err != nil {
		return nil, err
	}

	out := &getStuckOutput{}
	out.Body.Stuck = []stuckOrder{}

	err := s.cfg.Executions.Survey(ctx, now, executions.Filter{Orders: []transitions.OrderID{id}}, func(p executions.Problem) error {
		shown, _ := c.tenant.showStuck(processes.StuckOrder{
			OrderID: string(p.Ref()), Kind: p.Kind.Label(), State: string(p.State), Since: p.Since, Cause: p.Cause, Commands: p.Commands, FoundAt: now,
		})
		out.Body.Stuck = append(out.Body.Stuck, shown)

		return nil
	}, nil)

	return out, err
}
