package reports

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// move is a transition that a report asks for.
type move struct {
	event  workflow.Event
	target workflow.State
}

// moves are the transitions that the reports ask for, one after the other.
var moves = map[shipping.Milestone][]move{
	shipping.Shipped:   {{workflow.Ship, workflow.Shipped}},
	shipping.Delivered: {{workflow.Deliver, workflow.Delivered}},
	shipping.Returned:  {{workflow.RequestReturn, workflow.ReturnRequested}, {workflow.ReceiveReturn, workflow.Returned}},
}

// ruling is the answer to a report, with the reason if it is not Accepted.
type ruling struct {
	answer shipping.Answer
	reason string
}

var accepted = ruling{answer: shipping.Accepted}

// Take judges a report of a carrier that repeats it until it is accepted or rejected. It stores
// nothing. A report that the order cannot take yet is answered with Retry: the order is not
// paid, is on hold, or the delivery was reported before the shipment. A report that the order
// can never take is Rejected, and logged.
func (d *Desk) Take(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
	rule, err := d.take(ctx, r)
	if err != nil {
		return shipping.Retry, err
	}

	if rule.answer == shipping.Rejected {
		d.cfg.Log.InfoContext(ctx, "the carrier's report was rejected", "order", r.OrderID, "report", r.ID, "reason", rule.reason)
	}

	return rule.answer, nil
}

func (d *Desk) take(ctx context.Context, r shipping.Report) (ruling, error) {
	switch {
	case r.Milestone == shipping.Lost:
		return accepted, d.recordLost(ctx, r)
	case len(moves[r.Milestone]) == 0:
		return accepted, nil // booked, or a milestone of a later version
	case r.Parcel == "":
		return d.moveOrder(ctx, r)
	case r.Milestone == shipping.Shipped:
		return d.shipParcel(ctx, r)
	}

	return d.moveWithLastParcel(ctx, r)
}

// moveOrder makes the transitions of the report. Where a report stands for two, the id of the
// first request is extended by its event.
func (d *Desk) moveOrder(ctx context.Context, r shipping.Report) (ruling, error) {
	all := moves[r.Milestone]

	for i, m := range all {
		id := requestID(r)
		if i < len(all)-1 {
			id += "/" + transitions.RequestID(m.event)
		}

		result, err := d.cfg.Orders.Apply(ctx, transitions.Request{
			OrderID:   transitions.OrderID(r.OrderID),
			Event:     m.event,
			RequestID: id,
		})
		if err != nil {
			return ruling{}, err
		}

		// The order is where the report says: a person has moved it, the carrier has reported it
		// under another id, or two parcels were the last one at the same moment.
		reached := result.Verdict == transitions.WrongState && result.Order.State == m.target
		if !result.Verdict.Done() && !reached {
			return d.refusal(result, m.target), nil
		}
	}

	return accepted, nil
}

// requestID returns the request id of a report: one that no other caller's request can have.
func requestID(r shipping.Report) transitions.RequestID {
	if strings.HasPrefix(r.ID, transitions.CarrierRequests) {
		return transitions.RequestID(r.ID)
	}

	return transitions.RequestID(transitions.CarrierRequests + r.ID)
}

// refusal says whether the order that refused a transition can come to the target.
func (d *Desk) refusal(result transitions.Result, target workflow.State) ruling {
	if result.Verdict != transitions.WrongState {
		return ruling{shipping.Rejected, result.Verdict.String()}
	}

	rule := ruling{shipping.Rejected, fmt.Sprintf("the order is %s", result.Order.State)}
	if d.comesTo(result.Order.State, target) {
		rule.answer = shipping.Retry
	}

	return rule
}

// comesTo reports whether an order in the state is not in the target yet and can come to it.
func (d *Desk) comesTo(state, target workflow.State) bool {
	return state != target && d.cfg.Orders.Definition().Reachable(state, target)
}

// shipParcel counts the pieces of a parcel that has left.
func (d *Desk) shipParcel(ctx context.Context, r shipping.Report) (ruling, error) {
	p := transitions.Parcel{OrderID: transitions.OrderID(r.OrderID), ID: r.Parcel}
	for _, l := range r.Lines {
		p.Lines = append(p.Lines, transitions.ParcelLine(l))
	}

	result, err := d.cfg.Orders.ShipParcel(ctx, p)
	switch {
	case err != nil:
		return ruling{}, err
	case result.Verdict.Done():
		return accepted, nil
	case result.Reason != "":
		return ruling{shipping.Rejected, result.Reason}, nil
	}

	return d.refusal(result, workflow.Shipped), nil
}

// moveWithLastParcel notes what has become of one parcel, and moves the order when it has become
// of every parcel of a completely shipped order. A parcel that was not reported as shipped is too
// early.
func (d *Desk) moveWithLastParcel(ctx context.Context, r shipping.Report) (ruling, error) {
	order, found, err := d.cfg.Orders.Get(ctx, transitions.OrderID(r.OrderID))
	switch {
	case err != nil:
		return ruling{}, err
	case !found:
		return ruling{shipping.Rejected, transitions.NotFound.String()}, nil
	case order.HasParcel(r.Parcel):
	case d.comesTo(order.State, workflow.Shipped):
		return ruling{shipping.Retry, "the parcel was not reported as shipped"}, nil
	default:
		return ruling{shipping.Rejected, "the order has no such parcel"}, nil
	}

	noted, err := d.noteParcel(ctx, r)
	if err != nil {
		return ruling{}, err
	}

	// Read after the note: of two parcels that are noted at the same moment, the later one finds
	// both notes, and both parcels in the order.
	order, _, err = d.cfg.Orders.Get(ctx, order.ID)
	if err != nil {
		return ruling{}, err
	}

	if noted != order.Parcels() || d.comesTo(order.State, workflow.Shipped) {
		return accepted, nil
	}

	return d.moveOrder(ctx, r)
}

// noteParcel notes that the parcel has reached the milestone, and returns how many of the order's
// parcels have.
func (d *Desk) noteParcel(ctx context.Context, r shipping.Report) (noted int, err error) {
	in := dynamo.NewUpdate(d.cfg.Table, rowKey("parcels#"+r.OrderID, "-")).
		Alias("#milestone", string(r.Milestone)).
		Add("#milestone :parcel").
		Bind(":parcel", dynamo.SS(r.Parcel)).
		Input()
	in.ReturnValues = types.ReturnValueAllNew

	out, err := d.cfg.DynamoDB.UpdateItem(ctx, in)
	if err != nil {
		return 0, fmt.Errorf("note the parcel: %w", err)
	}

	set, ok := out.Attributes[string(r.Milestone)].(*types.AttributeValueMemberSS)
	if !ok {
		return 0, nil
	}

	return len(set.Value), nil
}

// LostKey names the once-lock that records the carrier's report of a lost parcel. Its holder is
// the id of the report. The text is stored.
func LostKey(id transitions.OrderID) string { return "lost-parcel/" + string(id) }

// recordLost records that a parcel was lost. The first report of an order stays: one is enough
// for a person to look.
func (d *Desk) recordLost(ctx context.Context, r shipping.Report) error {
	lock, err := d.cfg.Locks.Acquire(ctx, LostKey(transitions.OrderID(r.OrderID)), r.ID)
	if err != nil {
		return err
	}

	d.cfg.Log.WarnContext(ctx, "the carrier has lost a parcel", "order", r.OrderID, "report", r.ID, "recorded", lock.Holder)

	return nil
}
