package transitions

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/workflow"
)

// next finds the transition that the order as it stands would make, and plans its write. A refusal is
// WrongState, or Illegal if the definition has no such event.
func (p *move) next(s *sight) decision {
	order := s.order
	if p.refusal.refuses() {
		return p.refusal.of(order)
	}

	if seen := p.request.timer; seen != nil && order.State == seen.From {
		timer, same := p.orders.sameTimer(order, seen)
		if !same {
			return decision{result: Result{Verdict: WrongState, Order: order, Expected: []workflow.State{seen.From}, Reason: "the timer was restarted, moved or ended meanwhile"}}
		}
		p.request.timer = &timer
	}

	groups, reason := p.groups, ""
	var parcel *parcelUpdate
	if p.parcel != nil {
		var err error
		if parcel, reason, err = p.parcel.update(order, p.orders.def.Shipping()); err != nil {
			return decision{err: err}
		}
		groups = p.orders.def.Groups(parcel.event)
	}

	to, unmet, possible, err := selectTransition(groups, order, p.request.Values)
	if err != nil {
		return decision{err: err}
	}

	if !possible {
		reason = unmet
	}

	if seen := p.request.IfContent; seen != nil && order.ContentVersion != *seen && reason == "" {
		reason = fmt.Sprintf("the content has version %d, the request is for %d", order.ContentVersion, *seen)
	}

	if reason == "" {
		reason = p.request.Own.If.unmet(order.Own)
	}

	if !possible || reason != "" {
		return decision{result: Result{Verdict: WrongState, Order: order, Expected: sourcesOf(groups), Reason: reason}}
	}

	return p.write(s, to, parcel)
}

// write plans the write of the move, without an order if s has none. The order then decides: if it
// refuses the write, its image shows the right move.
func (p *move) write(s *sight, to workflow.Group, parcel *parcelUpdate) decision {
	t := step{request: p.request, move: oneEntry(to, s.order), parcel: parcel, with: p.with, transition: Transition{
		ID:       p.id,
		Event:    p.request.Event,
		To:       to.To,
		At:       s.now,
		request:  p.key,
		call:     p.call,
		assigned: p.assigned,
		narrowed: p.request.From != "",
		own:      p.request.Own.digest(),
		Cause:    p.request.Cause.fitted(),
	}}

	if s.order != nil {
		t.foreign = s.order.foreign()
		// An attribute of another program names no life.
		if s.order.Readable(incarnationAttribute) != nil {
			t.request.Incarnation = ""
		}
	}

	// The condition "transitionId < :id" makes sure that the order has not moved past this id.
	if p.id == 0 {
		t.transition.ID = s.order.TransitionID + 1
	}

	p.orders.restarts(&t, s.order)

	if p.request.timer != nil {
		p.request.timer.pinTo(&t, s.order)
	}

	if parcel != nil {
		// As long as the order has neither moved nor been edited, its lines are as they were read.
		t.transition.Event, t.request.IfMatch = parcel.event, &s.order.TransitionID
		if s.order.Readable(contentVersionAttribute) == nil {
			t.request.IfContent = &s.order.ContentVersion
		}
	}

	return p.orders.planned(&t, s.order)
}

// selectTransition finds the move of an event that the order as it stands would make. If
// there is none, unmet names the guards that do not hold, or is "" if the state does not
// allow the event.
func selectTransition(groups []workflow.Group, order *Order, values map[string]any) (to workflow.Group, unmet string, found bool, err error) {
	var data map[string]any
	for _, g := range groups {
		if !slices.Contains(g.From, order.State) {
			continue
		}

		// Most moves have no guards, and the conversion of the whole item is not cheap.
		if len(g.Guards) > 0 && data == nil {
			data = order.GuardData()
		}

		guard, err := firstUnmet(g.Guards, data, values)
		switch {
		case err != nil:
			return workflow.Group{}, "", false, fmt.Errorf("%w: values: %w", ErrInvalidRequest, err)
		case guard == nil:
			return g, "", true, nil
		// Go on: the guards of another target may hold.
		case unmet != "":
			unmet += "; "
		}
		unmet += fmt.Sprintf("guard %s (to %s) needs %s", guard.Name, g.To, guard)
	}

	return workflow.Group{}, unmet, false, nil
}

func firstUnmet(guards []workflow.Guard, data, values map[string]any) (*workflow.Guard, error) {
	for i := range guards {
		if holds, err := guards[i].Holds(data, values); err != nil || !holds {
			return &guards[i], err
		}
	}

	return nil, nil
}

// sourcesOf lists the states that the groups leave.
func sourcesOf(groups []workflow.Group) []workflow.State {
	var all []workflow.State
	for _, g := range groups {
		for _, s := range g.From {
			if !slices.Contains(all, s) { // guards may lead from one state to several
				all = append(all, s)
			}
		}
	}

	return all
}

// GuardData is the order as guards see it (see [workflow.Guard.Holds]): every attribute of
// its item. It is empty for an order that was not read whole.
func (o *Order) GuardData() map[string]any { return plainMap(o.item) }

// plainMap converts an image for the evaluation of guards.
func plainMap(item image) map[string]any {
	out := make(map[string]any, len(item))
	for name, v := range item {
		out[name] = plain(v)
	}

	return out
}

func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberM:
		return plainMap(v.Value)
	case *types.AttributeValueMemberL:
		return plainList(v.Value, plain)
	case *types.AttributeValueMemberSS:
		return plainList(v.Value, func(s string) any { return s })
	case *types.AttributeValueMemberNS:
		return plainList(v.Value, func(s string) any { return json.Number(s) })
	case *types.AttributeValueMemberBS:
		return plainList(v.Value, func(b []byte) any { return b })
	}

	return nil
}

func plainList[T any](values []T, to func(T) any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = to(v)
	}

	return out
}
