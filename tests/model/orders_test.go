package model

import (
	"context"
	"fmt"
	"slices"

	"ratchet/transitions"
	"ratchet/workflow"
)

// variant is a configuration of the orders. It changes from call to call.
type variant struct {
	definition *workflow.Definition
	requests   string // the table of request ids
}

// variants are the first version of the definition, with and without the table of request ids, and a
// second version, which has no release: what was released before stays so, and is remembered.
var variants = []variant{
	{workflow.Order(), ""},
	{workflow.Order(), requestsTable},
	{withoutRelease(), requestsTable},
}

func withoutRelease() *workflow.Definition {
	spec := workflow.Order().Spec()
	spec.Version = 2
	spec.Transitions = slices.DeleteFunc(spec.Transitions, func(t workflow.Transition) bool { return t.Event == workflow.Release })

	d, err := workflow.New(spec)
	if err != nil {
		panic(err)
	}

	return d
}

// orders is the model of one order after the other: its state, and the requests that were
// applied to it.
type orders struct {
	placed  int
	id      transitions.OrderID
	state   workflow.State
	at      transitions.TransitionID
	applied []transitions.Request
}

func (o *orders) begin(p *program) { o.place(p) }

func (o *orders) place(p *program) {
	o.placed++
	o.id, o.state, o.at, o.applied = transitions.OrderID(p.id("order", o.placed)), workflow.Pending, 1, nil

	v := p.roll(len(variants))
	err := p.call("place", func(ctx context.Context, m *machine) error {
		r, err := m.orders[v].Create(ctx, transitions.NewOrder{ID: o.id, Total: transitions.Money{Amount: 100, Currency: currency}})
		if err == nil && r.Verdict != transitions.Applied && r.Verdict != transitions.Replayed {
			err = fmt.Errorf("verdict %s", r.Verdict)
		}

		return err
	})
	if err != nil {
		p.fail("place %s: %v", o.id, err)
	}
}

func (o *orders) step(p *program) {
	v := p.roll(len(variants))
	definition := variants[v].definition
	if definition.Terminal(o.state) && p.chance(30) {
		o.check(p)
		o.place(p)
	}

	if len(o.applied) > 0 && p.chance(25) {
		i := p.roll(len(o.applied))
		o.apply(p, v, o.applied[i], transitions.Replayed, transitions.TransitionID(i+2))

		return
	}

	// An order can be held and released again and again, so hold and release come up more often.
	event := []workflow.Event{workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Pay, workflow.Ship, workflow.Deliver, workflow.Cancel}[p.roll(8)]
	r := transitions.Request{OrderID: o.id, Event: event, TransitionID: o.at + 1}
	if p.chance(50) {
		r.TransitionID, r.RequestID = 0, transitions.RequestID(p.id("request", len(p.log)))
	}

	switch {
	case !slices.Contains(definition.Events(), event):
		o.apply(p, v, r, transitions.Illegal, 0)
		return
	case len(definition.Choices(o.state, event)) == 0:
		o.apply(p, v, r, transitions.WrongState, 0)
		return
	}
	next, _ := definition.Next(o.state, event)
	o.state = next
	o.at++
	o.applied = append(o.applied, r)
	o.apply(p, v, r, transitions.Applied, o.at)
}

// apply sends the request. A crash may have left it applied, so that Applied may be
// Replayed.
func (o *orders) apply(p *program, v int, r transitions.Request, want transitions.Verdict, id transitions.TransitionID) {
	var got transitions.Result
	err := p.call("apply", func(ctx context.Context, m *machine) (err error) {
		got, err = m.orders[v].Apply(ctx, r)
		return err
	})

	verdict := got.Verdict
	if want == transitions.Applied && verdict == transitions.Replayed {
		verdict = transitions.Applied
	}

	if err != nil || verdict != want || got.Transition.ID != id {
		p.fail("apply %+v to an order that is %s at %d: %s as %d, %v; want %s as %d", r, o.state, o.at, got.Verdict, got.Transition.ID, err, want, id)
	}
}

func (o *orders) check(p *program) {
	got, found, err := p.store.machines[1].orders[0].Get(p.t.Context(), o.id)
	if err != nil || !found || got.State != o.state || got.TransitionID != o.at {
		p.fail("order %+v, %v; want %s at %d", got, err, o.state, o.at)
	}

	made, err := p.store.machines[1].orders[0].History(p.t.Context(), o.id, 0, 1000)
	if err != nil || len(made) != len(o.applied)+1 {
		p.fail("the journal of order %s has %d transitions, %v; want %d", o.id, len(made), err, len(o.applied)+1)
		return
	}

	for i, r := range o.applied {
		if t := made[i+1]; t.Event != r.Event || t.ID != transitions.TransitionID(i+2) || r.RequestID != "" && !t.IsBy(r.RequestID) {
			p.fail("the journal of order %s has %+v, want %+v", o.id, t, r)
		}
	}
}
