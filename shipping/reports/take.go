package reports

import (
	"context"
	"fmt"
	"slices"
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

// Take judges a report of a carrier that repeats it until it is accepted or rejected. It stores
// nothing. A report that the order cannot take yet is answered with Retry: the order is not
// paid, is on hold, or the delivery was reported before the shipment. A report that the order
// can never take is Rejected, and logged.
func (d *Desk) Take(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
	answer, reason, err := d.take(ctx, r)
	if err != nil {
		return shipping.Retry, err
	}

	if answer == shipping.Rejected {
		d.cfg.Log.InfoContext(ctx, "the carrier's report was rejected", "order", r.OrderID, "report", r.ID, "reason", reason)
	}

	return answer, nil
}

func (d *Desk) take(ctx context.Context, r shipping.Report) (answer shipping.Answer, reason string, err error) {
	switch {
	case r.Milestone == shipping.Lost:
		return shipping.Accepted, "", d.recordLost(ctx, r)
	case len(moves[r.Milestone]) == 0:
		return shipping.Accepted, "", nil // booked, or a milestone of a later version
	case r.Parcel == "":
		return d.moveOrder(ctx, r)
	case r.Milestone == shipping.Shipped:
		return d.shipParcel(ctx, r)
	}

	last, answer, reason, err := d.noteParcel(ctx, r)
	if err != nil || !last {
		return answer, reason, err
	}

	return d.moveOrder(ctx, r)
}

// moveOrder makes the transitions of the report. Where a report stands for two, the id of the
// first request is extended by its event.
func (d *Desk) moveOrder(ctx context.Context, r shipping.Report) (answer shipping.Answer, reason string, err error) {
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
			return shipping.Retry, "", err
		}

		// The order is where the report says: a person has moved it, the carrier has reported it
		// under another id, or two parcels were the last one at the same moment.
		reached := result.Verdict == transitions.WrongState && result.Order.State == m.target
		if result.Verdict.Done() || reached {
			continue
		}

		answer, reason = d.answer(result, m.target)

		return answer, reason, nil
	}

	return shipping.Accepted, "", nil
}

// requestPrefix begins the request ids of reports, so that a report cannot take the id of another
// caller's request. The text is stored.
const requestPrefix = "carrier/"

func requestID(r shipping.Report) transitions.RequestID {
	if strings.HasPrefix(r.ID, requestPrefix) {
		return transitions.RequestID(r.ID)
	}

	return transitions.RequestID(requestPrefix + r.ID)
}

// answer says whether the order that refused a transition can come to the target.
func (d *Desk) answer(result transitions.Result, target workflow.State) (shipping.Answer, string) {
	if result.Verdict != transitions.WrongState {
		return shipping.Rejected, result.Verdict.String()
	}

	state := result.Order.State
	if state != target && d.cfg.Orders.Definition().Reachable(state, target) {
		return shipping.Retry, fmt.Sprintf("the order is %s", state)
	}

	return shipping.Rejected, fmt.Sprintf("the order is %s", state)
}

// shipParcel counts the pieces of a parcel that has left.
func (d *Desk) shipParcel(ctx context.Context, r shipping.Report) (answer shipping.Answer, reason string, err error) {
	p := transitions.Parcel{OrderID: transitions.OrderID(r.OrderID), ID: r.Parcel}
	for _, l := range r.Lines {
		p.Lines = append(p.Lines, transitions.ParcelLine(l))
	}

	result, err := d.cfg.Orders.ShipParcel(ctx, p)
	switch {
	case err != nil:
		return shipping.Retry, "", err
	case result.Verdict.Done():
		return shipping.Accepted, "", nil
	case result.Reason != "":
		return shipping.Rejected, result.Reason, nil
	}

	answer, reason = d.answer(result, workflow.Shipped)

	return answer, reason, nil
}

// noteParcel notes what has become of one parcel. last says that it has become of every parcel
// of a completely shipped order. A parcel that was not reported as shipped is too early.
func (d *Desk) noteParcel(ctx context.Context, r shipping.Report) (last bool, answer shipping.Answer, reason string, err error) {
	order, found, err := d.cfg.Orders.Get(ctx, transitions.OrderID(r.OrderID))
	switch {
	case err != nil:
		return false, shipping.Retry, "", err
	case !found:
		return false, shipping.Rejected, transitions.NotFound.String(), nil
	case !order.HasParcel(r.Parcel):
		if order.State != workflow.Shipped && d.cfg.Orders.Definition().Reachable(order.State, workflow.Shipped) {
			return false, shipping.Retry, "the parcel was not reported as shipped", nil
		}

		return false, shipping.Rejected, "the order has no such parcel", nil
	}

	update := dynamo.NewUpdate(d.cfg.Table, dynamo.Item{partitionKey: dynamo.S("parcels#" + r.OrderID), sortKey: dynamo.S("-")}).
		Alias("#milestone", string(r.Milestone)).
		Add("#milestone :parcel").
		Bind(":parcel", dynamo.SS(r.Parcel))
	in := update.Input()
	in.ReturnValues = types.ReturnValueAllNew

	out, err := d.cfg.DynamoDB.UpdateItem(ctx, in)
	if err != nil {
		return false, shipping.Retry, "", fmt.Errorf("note the parcel: %w", err)
	}

	noted := 0
	if set, ok := out.Attributes[string(r.Milestone)].(*types.AttributeValueMemberSS); ok {
		noted = len(set.Value)
	}

	// Read after the note: of two parcels that are noted at the same moment, the later one finds
	// both notes, and both parcels in the order.
	if order, _, err = d.cfg.Orders.Get(ctx, order.ID); err != nil {
		return false, shipping.Retry, "", err
	}
	open := []workflow.State{workflow.PaymentReceived, workflow.PaidOnHold, workflow.PartiallyShipped}

	return noted == order.Parcels() && !slices.Contains(open, order.State), shipping.Accepted, "", nil
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
