package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/workflow"
)

// scheduledRoutes are the routes of transitions that are requested for later.
func (s *service) scheduledRoutes(h huma.API) {
	const path = "/v1/orders/{orderId}/scheduled"

	read := func(id, path, summary, description string) route {
		return route{
			id: id, method: http.MethodGet, path: path, tag: "transitions", scope: auth.Read, status: http.StatusOK,
			errors: []int{http.StatusNotFound}, summary: summary, description: description,
		}
	}
	change := func(id, method, path, summary, description string) route {
		return route{
			id: id, method: method, path: path, tag: "transitions", scope: auth.Act, mutates: true, repeats: fromRecord, status: http.StatusOK,
			auditParams: pathNames(path), errors: []int{http.StatusNotFound, http.StatusConflict}, summary: summary, description: description,
		}
	}

	place := change("schedule-transition", http.MethodPost, path, "Request one transition for later",
		"The request is stored, and judged and applied within a minute after its time. Whether the order can make the transition is judged then; the verdict is in the stored request. "+
			"A repeat with the same key and content gets the request as it is then (Idempotent-Replayed: true). The time is a part of the content: use move-scheduled-transition to change it. "+
			"At most 1,000 requests of an order wait at once (too_many_scheduled), each at most 366 days ahead (time_out_of_range).")
	place.status, place.body = http.StatusAccepted, true
	register(s, h, place, s.scheduleTransition)
	register(s, h, read("list-scheduled-transitions", path, "List the transitions of an order that are requested for later",
		"Those that wait, and those that have ended in the last 30 days, in the order of their ids."), s.listScheduled)
	register(s, h, read("get-scheduled-transition", path+"/{scheduledId}", "Read a transition that is requested for later", ""), s.getScheduled)

	move := change("move-scheduled-transition", http.MethodPut, path+"/{scheduledId}", "Give a request for later another time",
		"A repeat changes nothing. After the end of the request the answer is scheduled_ended.")
	move.body = true
	register(s, h, move, s.moveScheduled)
	register(s, h, change("withdraw-scheduled-transition", http.MethodDelete, path+"/{scheduledId}", "Withdraw a request for later",
		"A request that is withdrawn is never applied. A repeat changes nothing. A request that was applied or refused is scheduled_ended."), s.withdrawScheduled)
}

// scheduledTransition is a transition that is requested for later.
type scheduledTransition struct {
	ID           string     `json:"id" doc:"Names the request within its order."`
	Event        string     `json:"event"`
	From         string     `json:"from,omitempty" doc:"The event is applied only from this state."`
	At           time.Time  `json:"at" doc:"When it is judged and applied."`
	Status       string     `json:"status" enum:"pending,applied,refused,withdrawn"`
	Incarnation  string     `json:"incarnation,omitempty" doc:"The life of the order that it is for."`
	PlacedAt     time.Time  `json:"placedAt"`
	EndedAt      *time.Time `json:"endedAt,omitempty"`
	TransitionID int64      `json:"transitionId,omitempty" doc:"The transition that it has made."`
	Verdict      string     `json:"verdict,omitempty" enum:"Applied,Replayed,Superseded,WrongState,Conflict,NotFound,Illegal" doc:"Replayed: another request with the same key had made the transition before. Absent of a refused request if it could not be judged."`
	Reason       string     `json:"reason,omitempty" personal:"text" doc:"Why it was refused."`
	Cause        *cause     `json:"cause,omitempty"`
}

func showScheduled(r scheduled.Request) scheduledTransition {
	shown := scheduledTransition{
		ID: string(r.ID), Event: string(r.Event), From: string(r.From), At: r.At, Status: string(r.Status), Incarnation: string(r.Life),
		PlacedAt: r.PlacedAt, TransitionID: int64(r.TransitionID), Reason: r.Reason, Cause: showCause(r.Cause),
	}
	if !r.EndedAt.IsZero() {
		shown.EndedAt = &r.EndedAt
	}

	if r.Verdict != 0 {
		shown.Verdict = r.Verdict.String()
	}

	return shown
}

type newScheduled struct {
	// The names of package workflow have the same pattern.
	Event  string      `json:"event" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" doc:"The event to apply."`
	From   string      `json:"from,omitempty" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" doc:"Apply the event only from this state."`
	At     time.Time   `json:"at" doc:"When to judge and apply it: from a minute ago to 366 days ahead." example:"2026-12-24T18:00:00Z"`
	Values guardValues `json:"values,omitempty"`
	Own    *newOwn     `json:"own,omitempty" doc:"Changes own attributes in the same write. It is a part of the request's content."`
	Cause  *newCause   `json:"cause,omitempty" doc:"Why. It is no part of the request's content: a repeat may have another one."`
}

type scheduleInput struct {
	input.Order
	input.Keyed
	Body newScheduled
}

type scheduledOutput struct {
	input.Repeat
	Body scheduledTransition
}

func (s *service) scheduleTransition(ctx context.Context, c caller, in *scheduleInput) (*scheduledOutput, error) {
	own, refusal := c.ownChange(in.Body.Own)
	if refusal != nil {
		return nil, refusal
	}

	r := transitions.Request{
		OrderID:   c.tenant.orderID(in.OrderID),
		Event:     workflow.Event(in.Body.Event),
		From:      workflow.State(in.Body.From),
		RequestID: transitions.RequestID(in.Key),
		Values:    in.Body.Values,
		Own:       own,
		Cause:     c.cause(ctx, in.Body.Cause),
	}

	if p := refuseReserved(r.RequestID); p != nil {
		return nil, p
	}

	placed, err := s.cfg.Scheduled.Place(ctx, r, in.Body.At)
	if err != nil {
		return nil, err
	}

	out := &scheduledOutput{Body: showScheduled(placed.Request)}
	if placed.Repeated {
		out.MarkReplayed()
	}

	return out, nil
}

type listScheduledInput struct {
	input.Order
	input.Page
}

type listScheduledOutput struct {
	Body struct {
		Scheduled []scheduledTransition `json:"scheduled"`
		Next      string                `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listScheduled(ctx context.Context, c caller, in *listScheduledInput) (*listScheduledOutput, error) {
	binding := []string{"scheduled", string(c.tenant), in.OrderID}

	after, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	// An unknown order is a 404. An order without requests has an empty list.
	order, err := s.getOwnOrder(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	found, err := s.cfg.Scheduled.List(ctx, order.ID, scheduled.ID(after), in.Limit)
	if err != nil {
		return nil, err
	}

	out := &listScheduledOutput{}
	out.Body.Scheduled = make([]scheduledTransition, len(found))
	for i, r := range found {
		out.Body.Scheduled[i] = showScheduled(r)
	}

	if len(found) == in.Limit {
		out.Body.Next = s.cursors.seal(string(found[len(found)-1].ID), binding...)
	}

	return out, nil
}

type scheduledInput struct {
	input.Order
	input.Scheduled
}

type getScheduledOutput struct{ Body scheduledTransition }

func (s *service) getScheduled(ctx context.Context, c caller, in *scheduledInput) (*getScheduledOutput, error) {
	r, err := s.cfg.Scheduled.Get(ctx, c.tenant.orderID(in.OrderID), scheduled.ID(in.ScheduledID))
	if err != nil {
		return nil, err
	}

	return &getScheduledOutput{showScheduled(r)}, nil
}

type moveScheduledInput struct {
	input.Order
	input.Scheduled
	Body struct {
		At time.Time `json:"at" doc:"From a minute ago to 366 days ahead." example:"2026-12-24T18:00:00Z"`
	}
}

func (s *service) moveScheduled(ctx context.Context, c caller, in *moveScheduledInput) (*scheduledOutput, error) {
	r, err := s.cfg.Scheduled.Move(ctx, c.tenant.orderID(in.OrderID), scheduled.ID(in.ScheduledID), in.Body.At)
	if err != nil {
		return nil, err
	}

	return &scheduledOutput{Body: showScheduled(r)}, nil
}

func (s *service) withdrawScheduled(ctx context.Context, c caller, in *scheduledInput) (*scheduledOutput, error) {
	r, err := s.cfg.Scheduled.Withdraw(ctx, c.tenant.orderID(in.OrderID), scheduled.ID(in.ScheduledID))
	if err != nil {
		return nil, err
	}

	return &scheduledOutput{Body: showScheduled(r)}, nil
}
