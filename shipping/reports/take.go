package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// move is a transition that a report asks for.
type move struct {
	event   workflow.Event
	targets []workflow.State
}

// moves returns the transitions that a report asks for, one after the other, as the definition says.
func (d *Receiver) moves(m shipping.Milestone) (all []move) {
	for _, event := range d.events(m) {
		all = append(all, move{event, d.definition().Targets(event)})
	}

	return all
}

func (d *Receiver) events(m shipping.Milestone) []workflow.Event {
	s := d.definition().Shipping()

	switch one := (map[shipping.Milestone]workflow.Event{shipping.Shipped: s.Left, shipping.Delivered: s.Delivered, shipping.Canceled: s.Canceled})[m]; {
	case m == shipping.Returned:
		return s.Returned
	case one != "":
		return []workflow.Event{one}
	}

	return nil
}

func (d *Receiver) definition() *workflow.Definition { return d.cfg.Orders.Definition() }

// ruling is the answer to a report. Reason says why the answer is not Accepted. If a command is set,
// the answer is Retry, and a person has to do what the reason says.
type ruling struct {
	answer  shipping.Answer
	reason  string
	command string
}

var accepted = ruling{answer: shipping.Accepted}

// Take judges a report of a carrier that repeats it until it is accepted or rejected. The report itself
// is not stored. The answer is Retry if the order cannot take the report yet: the order is not paid, is
// on hold, or was reported as delivered before it was reported as shipped. The answer is Rejected, with
// a line in the log, if the order can never take the report.
func (d *Receiver) Take(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
	rule, err := d.take(ctx, r)
	if err != nil {
		return shipping.Retry, err
	}

	if rule.answer == shipping.Rejected {
		d.cfg.Log.InfoContext(ctx, "the carrier's report was rejected", "order", r.OrderID, "report", r.ID, "reason", rule.reason)
	}

	return rule.answer, nil
}

func (d *Receiver) take(ctx context.Context, r shipping.Report) (ruling, error) {
	if r.Milestone != shipping.Lost && r.Milestone != shipping.Canceled && len(d.events(r.Milestone)) == 0 {
		return accepted, nil // Booked, an unknown milestone, or one that moves no order of this definition
	}

	order, found, err := d.cfg.Orders.Get(ctx, transitions.OrderID(r.OrderID))
	switch {
	case err != nil:
		return ruling{}, err
	case !found:
		return ruling{answer: shipping.Rejected, reason: transitions.NotFound.String()}, nil
	// The id was used again, or the order was renewed: its present life did not book this shipment.
	case !isOf(r, order):
		return ruling{answer: shipping.Rejected, reason: otherLife}, nil
	case r.Milestone == shipping.Lost:
		// A lost parcel moves no order, because the definition has no such state.
		return accepted, d.recordLost(ctx, order, r)
	case r.Milestone == shipping.Canceled:
		return d.carrierCanceled(ctx, order, r)
	case r.Parcel == "":
		return d.moveOrder(ctx, order, r)
	case r.Milestone == shipping.Shipped:
		return d.shipParcel(ctx, order, r)
	}

	return d.endParcel(ctx, order, r)
}

// otherLife is the reason for the refusal of a report about a shipment of another life of the order.
const otherLife = "the shipment is of another life of the order"

// moveOrder makes the transitions of the report. If a report stands for two transitions, the request id
// of the first one has its event at the end. The order is moved in the life in which the report was judged.
func (d *Receiver) moveOrder(ctx context.Context, order *transitions.Order, r shipping.Report) (ruling, error) {
	all := d.moves(r.Milestone)
	seen := order

	for i, m := range all {
		id := requestID(r)
		if i < len(all)-1 {
			id += "/" + transitions.RequestID(m.event)
		}

		result, err := d.cfg.Orders.Apply(ctx, transitions.Request{
			OrderID:     order.ID,
			Event:       m.event,
			RequestID:   id,
			Incarnation: order.Incarnation,
			Seen:        seen,
			Cause:       causeOf(r),
		})
		switch {
		case err != nil:
			return ruling{}, err
		case !isSameLife(order, result.Order):
			return ruling{}, errRenewed
		}

		// The order is already in a state that the report leads to. A person has moved it, the carrier has
		// reported the same under another id, or two calls each noted the last parcel at the same moment.
		reached := result.Verdict == transitions.WrongState && slices.Contains(d.where(all[i:]), result.Order.State)
		if !result.Verdict.Done() && !reached {
			return d.refusal(result, m), nil
		}
		seen = result.Order
	}

	return accepted, nil
}

// where returns the states in which an order may be after one of the moves. An order whose goods are back
// may already be where that leads, for instance refunded.
func (d *Receiver) where(all []move) (states []workflow.State) {
	for _, m := range all {
		states = append(states, m.targets...)
		if slices.Equal(m.targets, d.definition().Back()) {
			states = append(states, d.beyond(m.targets)...)
		}
	}

	return states
}

// beyond returns the states to which orders can come from one of the states.
func (d *Receiver) beyond(from []workflow.State) (states []workflow.State) {
	for _, s := range d.definition().States() {
		if slices.ContainsFunc(from, func(f workflow.State) bool { return d.comesTo(f, []workflow.State{s.State}) }) {
			states = append(states, s.State)
		}
	}

	return states
}

// causeOf is the cause of a transition that the carrier's report requests. Only a return has a code and
// a text.
func causeOf(r shipping.Report) transitions.Cause {
	c := transitions.Cause{Actor: "carrier", Source: "carrier"}
	if r.Milestone == shipping.Returned {
		c.Code, c.Text = "carrier-returned", "the carrier brought it back"
	}

	return c
}

// requestID returns the request id of a report. It begins with a prefix that no other caller's request
// ids have.
func requestID(r shipping.Report) transitions.RequestID {
	// The ids of the sandbox carrier's reports have the prefix already.
	if strings.HasPrefix(r.ID, transitions.CarrierRequests) {
		return transitions.RequestID(r.ID)
	}

	return transitions.RequestID(transitions.CarrierRequests + r.ID)
}

// refusal returns the ruling after the order has refused a transition: Retry if the order can still
// come to the transition's target, else Rejected.
func (d *Receiver) refusal(result transitions.Result, m move) ruling {
	if result.Verdict != transitions.WrongState {
		return ruling{answer: shipping.Rejected, reason: result.Verdict.String()}
	}

	rule := ruling{answer: shipping.Rejected, reason: fmt.Sprintf("the order is %s", result.Order.State)}
	if d.comesTo(result.Order.State, m.targets) {
		rule.answer = shipping.Retry
	}

	// The delivery may still be reported. If the parcel came back without a delivery, it never will, and
	// only a person can apply it.
	s := d.definition().Shipping()
	if len(s.Returned) > 0 && m.event == s.Returned[0] && s.Delivered != "" && slices.Contains(d.definition().Gone(), result.Order.State) && rule.answer == shipping.Retry {
		rule.reason = fmt.Sprintf("the order came back without a delivery, and its definition has no return from %s: apply %s, and the return follows", result.Order.State, s.Delivered)
		rule.command = fmt.Sprintf("ratchet orders apply %s %s", result.Order.ID.Arg(), s.Delivered)
	}

	return rule
}

// comesTo reports whether an order in the state is in none of the targets yet and can still come to one.
func (d *Receiver) comesTo(state workflow.State, targets []workflow.State) bool {
	return !slices.Contains(targets, state) &&
		slices.ContainsFunc(targets, func(target workflow.State) bool { return d.definition().Reachable(state, target) })
}
