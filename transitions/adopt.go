package transitions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Other programs may write the state of an order, too: those that had the table before Ratchet, or that do not know
// of it. Such a write leaves the transitionId as it is, so it is no transition: the journal has no row of it, and no
// request is ever answered as if it had made it. The order's newest transition shows that it is elsewhere now.

// MovedByOther reports whether another program has changed the order's state without a transition, and to which
// state its newest transition had led. An order that has made no transition here is not moved, and neither is one
// whose ring does not show it.
func (o *Order) MovedByOther() (left workflow.State, moved bool) {
	newest, held := o.slot(o.TransitionID)
	// A slot with a later id shows that the transitionId was changed, too.
	later := func(t Transition) bool { return t.ID > o.TransitionID }
	if !held || o.TransitionID == 0 || newest.To == o.State || slices.ContainsFunc(o.ring[:], later) {
		return "", false
	}

	return newest.To, true
}

// MovedByOther reads the two images of a stream record. It reports whether another program has changed the state of
// an order that has made transitions here, without a transition.
func (m Mapping) MovedByOther(oldImage, newImage image) (id OrderID, moved bool) {
	state, transition := m.attribute("orderState"), m.attribute("transitionId")

	made := dynamo.Number(newImage, transition)
	if made == 0 || made != dynamo.Number(oldImage, transition) || dynamo.Text(oldImage, state) == dynamo.Text(newImage, state) {
		return "", false
	}

	return m.OrderOf(newImage)
}

// Adopt brings in an order, as the caller has read it, whose state another program has written: one that has made no
// transition here, or that [Order.MovedByOther] says was moved since. It gets the next transitionId, with the event
// [workflow.Imported], by one write that is conditional on the order as it was read. The verdict is Applied for the call
// that brought it in, Replayed if its newest transition is an import and it is where that says, Superseded if it is not
// as it was read, or if there is nothing to bring in, and NotFound if it is gone.
//
// Nothing follows, as with [Orders.Import], but that an execution that waits for the state learns of it.
func (o *Orders) Adopt(ctx context.Context, order *Order, cause Cause) (Result, error) {
	ctx, meter := o.metered(ctx)

	result, err := Result{}, cause.validateOf(order.ID)
	if err == nil {
		p := &adoption{orders: o, seen: order, cause: cause.fitted(), call: newCallID()}
		result, err = o.run(ctx, p, sight{id: order.ID, order: order, fresh: true})
	}

	if err != nil {
		return Result{}, &Error{Order: order.ID, Event: workflow.Imported, Err: err}
	}
	o.report(ctx, meter, Request{OrderID: order.ID, Event: workflow.Imported, TransitionID: order.TransitionID + 1, Cause: cause}, result)

	return result, nil
}

// adoption is the plan of bringing in the state that another program has written.
type adoption struct {
	orders *Orders
	seen   *Order
	cause  Cause
	call   string
}

func (p *adoption) decide(s *sight) decision {
	order := s.order
	if order == nil {
		return decision{result: Result{Verdict: NotFound}}
	}

	if err := p.orders.CheckVersion(order); err != nil {
		return decision{err: err}
	}

	next := p.seen.TransitionID + 1
	newest, held := order.slot(next)
	_, moved := order.MovedByOther()

	switch imported := held && newest.Event == workflow.Imported; {
	case imported && newest.call == p.call:
		return decision{result: Result{Verdict: Applied, Transition: newest, Order: order}}
	case order.State != p.seen.State || order.TransitionID > next, order.TransitionID == next && !imported:
		reason := fmt.Sprintf("the order was %s when it was read, and is %s at transition %d now", p.seen.State, order.State, order.TransitionID)
		return decision{result: Result{Verdict: Superseded, Order: order, Reason: reason}}
	case imported && !moved:
		return decision{result: Result{Verdict: Replayed, Transition: newest, Order: order}}
	case order.TransitionID != 0 && !moved:
		return p.nothing(order)
	}

	if err := knownState(p.orders.def, order.State); err != nil {
		return decision{err: err}
	}

	t := Transition{ID: order.TransitionID + 1, Event: workflow.Imported, To: order.State, At: s.now, Cause: p.cause, call: p.call, assigned: true}

	return p.orders.bringIn(order, t, nil, time.Time{})
}

// nothing is the answer for an order that is where its newest transition has led.
func (p *adoption) nothing(order *Order) decision {
	newest, held := order.slot(order.TransitionID)
	if held && newest.Event == workflow.Imported {
		return decision{result: Result{Verdict: Replayed, Transition: newest, Order: order}}
	}

	return decision{result: Result{Verdict: Superseded, Order: order, Reason: "the order is where its newest transition has led: there is nothing to bring in"}}
}
