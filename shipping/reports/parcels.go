package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// keepParcels is how long after the newest report of an order's parcels its rows are kept.
const keepParcels = 400 * 24 * time.Hour

// The rows of an order's parcels: one with the names of the parcels that have come to an end, and one
// for each parcel with its lines. A parcel's name has no slash.
func parcelsKey(orderID, parcel string) dynamo.Item {
	if parcel == "" {
		return rowKey("parcels#"+orderID, "-")
	}

	return rowKey("parcels#"+orderID, "lines/"+parcel)
}

// parcel returns the reported parcel as package transitions knows it.
func parcel(r shipping.Report, lines []shipping.Line) transitions.Parcel {
	p := transitions.Parcel{OrderID: transitions.OrderID(r.OrderID), ID: r.Parcel, Cause: causeOf(r)}
	for _, l := range lines {
		p.Lines = append(p.Lines, transitions.ParcelLine(l))
	}

	return p
}

// shipParcel counts the pieces of a parcel that has left, and notes its lines.
func (d *Receiver) shipParcel(ctx context.Context, r shipping.Report) (ruling, error) {
	result, err := d.cfg.Orders.ShipParcel(ctx, parcel(r, r.Lines))
	switch {
	case errors.Is(err, transitions.ErrInvalidRequest), errors.Is(err, transitions.ErrOrderFull):
		return ruling{answer: shipping.Rejected, reason: err.Error()}, nil // whenever it is tried again
	case err != nil:
		return ruling{}, err
	case result.Verdict.Done():
		// Noted only after the order has taken the parcel: the lines of a refused parcel must not
		// count.
		return accepted, d.noteLines(ctx, r)
	case result.Reason != "":
		return ruling{answer: shipping.Rejected, reason: result.Reason}, nil
	}

	return d.refusal(result, move{workflow.Ship, workflow.Shipped}), nil
}

// endParcel notes that a parcel was delivered or has come back, and moves the order if that was its
// last parcel. Otherwise the money of a parcel that has come back is given back. The report of a
// parcel that was not reported as shipped is too early.
func (d *Receiver) endParcel(ctx context.Context, r shipping.Report) (ruling, error) {
	order, found, err := d.cfg.Orders.Get(ctx, transitions.OrderID(r.OrderID))
	switch {
	case err != nil:
		return ruling{}, err
	case !found:
		return ruling{answer: shipping.Rejected, reason: transitions.NotFound.String()}, nil
	case order.HasParcel(r.Parcel):
	case d.comesTo(order.State, workflow.Shipped):
		return ruling{answer: shipping.Retry, reason: "the parcel was not reported as shipped"}, nil
	default:
		return ruling{answer: shipping.Rejected, reason: "the order has no such parcel"}, nil
	}

	noted, err := d.noteParcel(ctx, r)
	if err != nil {
		return ruling{}, err
	}

	// Read after the note: of two parcels that are noted at the same moment, the later one finds
	// both notes, and both parcels in the order.
	order, found, err = d.cfg.Orders.Get(ctx, order.ID)
	switch {
	case err != nil:
		return ruling{}, err
	case !found: // it was deleted since
		return ruling{answer: shipping.Rejected, reason: transitions.NotFound.String()}, nil
	}

	reached, complete := d.endOf(order, noted)
	_, delivers := d.cfg.Orders.Definition().Next(order.State, workflow.Deliver)

	switch {
	case r.Milestone == shipping.Delivered && (!complete || reached == shipping.Returned && !delivers):
		return accepted, nil // others are under way, or all have come back since
	case r.Milestone == shipping.Delivered || reached == shipping.Returned:
		return d.moveOrder(ctx, r)
	case complete && delivers:
		// The others were delivered, and this one has come back instead.
		delivery := r
		// An id of its own, so that it is not a replay of the return's request.
		delivery.ID, delivery.Milestone = r.ID+"/"+string(shipping.Delivered), shipping.Delivered

		if rule, err := d.moveOrder(ctx, delivery); err != nil || rule != accepted {
			return rule, err
		}
	}

	return d.refundParcel(ctx, order, r)
}

// endOf returns the milestone that an order has reached by its parcels: Returned if all have come
// back with every piece of the order, Delivered if each was delivered or has come back. It reports
// false while pieces are to leave, or a parcel is under way, and if all parcels have come back
// while the rest of the order left without one.
func (d *Receiver) endOf(order *transitions.Order, noted notes) (m shipping.Milestone, complete bool) {
	switch n := order.Parcels(); {
	case n == 0 || d.comesTo(order.State, workflow.Shipped):
		return "", false
	case len(noted.returned) == n && !leftInParcels(order):
		return "", false
	case len(noted.returned) == n:
		return shipping.Returned, true
	case noted.ended() == n:
		return shipping.Delivered, true
	}

	return "", false
}

// leftInParcels reports whether the order's parcels hold all of its pieces. They do not hold all if a
// caller applied "ship" while pieces were left.
func leftInParcels(order *transitions.Order) bool {
	return !slices.ContainsFunc(order.Items, func(i transitions.Item) bool { return i.Shipped < i.Quantity })
}

// ApplyParcels moves an order that has left as a whole to the state that the reports of its parcels
// give. It is for an order whose parcels had all come to an end when a caller applied "ship": no
// report follows. A repeat changes nothing, and an order that has moved on stays where it is.
func (d *Receiver) ApplyParcels(ctx context.Context, id transitions.OrderID) error {
	order, found, err := d.cfg.Orders.Get(ctx, id)
	if err != nil || !found || order.Parcels() == 0 {
		return err
	}

	noted, err := d.readNotes(ctx, string(id))
	if err != nil {
		return err
	}

	m, complete := d.endOf(order, noted)
	if !complete {
		return nil
	}

	r := shipping.Report{ID: "parcels/" + string(id) + "/" + string(m), OrderID: string(id), Milestone: m}
	// A person's closing of this return counts as for a report of the carrier.
	if done, err := d.isDone(ctx, r); err != nil || done {
		return err
	}

	rule, err := d.moveOrder(ctx, r)
	if err != nil || rule.command == "" {
		return err
	}

	return d.wait(ctx, r, finding{Attention, rule.reason, rule.command})
}

// notes are the names of an order's parcels that were delivered, and of the parcels that have come
// back.
type notes struct{ delivered, returned []string }

// ended returns how many parcels are not under way any more.
func (n notes) ended() int {
	count := len(n.returned)
	for _, name := range n.delivered {
		if !slices.Contains(n.returned, name) {
			count++
		}
	}

	return count
}

func decodeNotes(row dynamo.Item) notes {
	set := func(m shipping.Milestone) []string {
		if v, ok := row[string(m)].(*types.AttributeValueMemberSS); ok {
			return v.Value
		}

		return nil
	}

	return notes{delivered: set(shipping.Delivered), returned: set(shipping.Returned)}
}

// noteParcel notes that the parcel has reached the milestone, and returns all notes of the order.
func (d *Receiver) noteParcel(ctx context.Context, r shipping.Report) (notes, error) {
	in := dynamo.NewUpdate(d.cfg.Table, parcelsKey(r.OrderID, "")).
		Alias("#milestone", string(r.Milestone)).
		// A set: a repeat adds nothing, and parcels that end at the same moment are all kept.
		Add("#milestone :parcel").
		Bind(":parcel", dynamo.SS(r.Parcel)).
		SetValue(ExpiryAttribute, dynamo.Seconds(d.now().Add(keepParcels))).
		Input()
	// The answer has every note up to this one, so of the last two parcels at least one sees both.
	in.ReturnValues = types.ReturnValueAllNew

	out, err := d.cfg.DynamoDB.UpdateItem(ctx, in)
	if err != nil {
		return notes{}, fmt.Errorf("note the parcel: %w", err)
	}

	return decodeNotes(out.Attributes), nil
}

func (d *Receiver) readNotes(ctx context.Context, orderID string) (notes, error) {
	row, err := d.get(ctx, parcelsKey(orderID, ""))
	return decodeNotes(row), err
}

// noteLines notes the lines of a parcel that the order has sent.
func (d *Receiver) noteLines(ctx context.Context, r shipping.Report) error {
	text, err := json.Marshal(r.Lines)
	if err != nil {
		return err
	}

	update := dynamo.NewUpdate(d.cfg.Table, parcelsKey(r.OrderID, r.Parcel)).
		SetValue("lines", dynamo.S(string(text))).
		SetValue(ExpiryAttribute, dynamo.Seconds(d.now().Add(keepParcels)))
	if _, err := d.cfg.DynamoDB.UpdateItem(ctx, update.Input()); err != nil {
		return fmt.Errorf("note the parcel's lines: %w", err)
	}

	return nil
}

// linesOf returns the parcel's lines when it left: as noted then, or as the report says. The order
// has a digest of the lines, so other lines are not believed. It returns none if the lines are
// unknown.
func (d *Receiver) linesOf(ctx context.Context, order *transitions.Order, r shipping.Report) ([]transitions.ParcelLine, error) {
	row, err := d.get(ctx, parcelsKey(r.OrderID, r.Parcel))
	if err != nil {
		return nil, err
	}

	var noted []shipping.Line
	if text := dynamo.Text(row, "lines"); text != "" {
		if err := json.Unmarshal([]byte(text), &noted); err != nil {
			return nil, fmt.Errorf("the noted lines of parcel %s cannot be read: %w", r.Parcel, err)
		}
	}

	for _, lines := range [][]shipping.Line{noted, r.Lines} {
		if p := parcel(r, lines); len(lines) > 0 && order.Sent(p) {
			return p.Lines, nil
		}
	}

	return nil, nil
}
