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
	"ratchet/internal/ids"
	"ratchet/shipping"
	"ratchet/transitions"
)

// keepParcels is how long a row about an order's parcels is kept after the row's newest change.
const keepParcels = 400 * 24 * time.Hour

// parcelsKey returns the key of a row about the parcels of an order's life. Without a parcel it is the row
// with the names of the parcels that were delivered or have come back. With a parcel it is the row with the
// parcel's lines. A parcel's name has no slash.
func parcelsKey(order *transitions.Order, parcel string) dynamo.Item {
	if parcel == "" {
		return parcelsRow(order, "-")
	}

	return parcelsRow(order, "lines/"+parcel)
}

// parcelsRow returns the key of a row about an order, which it keeps when it is renewed. The rows of all
// orders that had the id are in one partition, so that an erasure finds them.
func parcelsRow(order *transitions.Order, name string) dynamo.Item {
	return rowKey(parcelsPartition(order.ID), string(order.LifeAt(0))+"/"+name)
}

func parcelsPartition(id transitions.OrderID) string { return "parcels#" + string(id) }

// parcel returns the reported parcel as package transitions knows it.
func parcel(r shipping.Report, lines []shipping.Line) transitions.Parcel {
	p := transitions.Parcel{OrderID: transitions.OrderID(r.OrderID), ID: r.Parcel, Cause: causeOf(r)}
	for _, l := range lines {
		p.Lines = append(p.Lines, transitions.ParcelLine(l))
	}

	return p
}

// shipParcel adds the pieces of a parcel that has left to the order, and notes the parcel's lines.
func (d *Receiver) shipParcel(ctx context.Context, order *transitions.Order, r shipping.Report) (ruling, error) {
	p := parcel(r, r.Lines)
	p.Incarnation = order.Incarnation

	result, err := d.cfg.Orders.ShipParcel(ctx, p)
	switch {
	case errors.Is(err, transitions.ErrInvalidRequest), errors.Is(err, transitions.ErrOrderFull):
		return ruling{answer: shipping.Rejected, reason: err.Error()}, nil // every retry fails like this
	case err != nil:
		return ruling{}, err
	case !isSameLife(order, result.Order):
		return ruling{}, errRenewed
	case result.Verdict.Done():
		// Noted only after the order has taken the parcel: the lines of a refused parcel must not
		// count.
		return accepted, d.noteLines(ctx, order, r)
	case result.Reason != "":
		return ruling{answer: shipping.Rejected, reason: result.Reason}, nil
	}

	return d.refusal(result, move{d.definition().Shipping().Left, d.definition().Gone()}), nil
}

// endParcel notes that a parcel was delivered or has come back. If it was the last parcel under way,
// endParcel moves the order. If a parcel has come back and others have not, endParcel gives back the
// money of the parcel. A report about a parcel that was not reported as shipped is too early.
func (d *Receiver) endParcel(ctx context.Context, order *transitions.Order, r shipping.Report) (ruling, error) {
	switch {
	case order.HasParcel(r.Parcel):
	case d.comesTo(order.State, d.definition().Gone()):
		return ruling{answer: shipping.Retry, reason: "the parcel was not reported as shipped"}, nil
	default:
		return ruling{answer: shipping.Rejected, reason: "the order has no such parcel"}, nil
	}

	noted, err := d.noteParcel(ctx, order, r)
	if err != nil {
		return ruling{}, err
	}

	// The order is read again after the note: if two parcels are noted at the same moment, at least the
	// later call sees both notes and both parcels in the order.
	order, found, err := d.cfg.Orders.Get(ctx, order.ID)
	switch {
	case err != nil:
		return ruling{}, err
	case !found: // the order was deleted after the first read
		return ruling{answer: shipping.Rejected, reason: transitions.NotFound.String()}, nil
	case !isOf(r, order):
		return ruling{answer: shipping.Rejected, reason: otherLife}, nil
	}

	reached, complete := d.endOf(order, noted)
	_, delivers := d.definition().Next(order.State, d.definition().Shipping().Delivered)

	switch {
	case r.Milestone == shipping.Delivered && (!complete || reached == shipping.Returned && !delivers):
		return accepted, nil // other parcels are under way, or all parcels have come back by now
	case r.Milestone == shipping.Delivered || reached == shipping.Returned:
		return d.moveOrder(ctx, order, r)
	case complete && delivers:
		// The other parcels were delivered, and this one has come back instead. That delivers the order.
		delivery := r
		// Another id than the return's, so that the request is not taken for a repeat of the return.
		delivery.ID, delivery.Milestone = r.ID+"/"+string(shipping.Delivered), shipping.Delivered

		if rule, err := d.moveOrder(ctx, order, delivery); err != nil || rule != accepted {
			return rule, err
		}
	}

	return d.refundParcel(ctx, order, r)
}

// endOf returns the milestone that an order has reached by its parcels. It is Returned if all parcels
// have come back and they held every piece of the order. It is Delivered if each parcel was delivered
// or has come back. EndOf reports false in three cases: pieces have not left yet; a parcel is under
// way; or all parcels have come back, and the other pieces of the order left without a parcel.
func (d *Receiver) endOf(order *transitions.Order, noted notes) (m shipping.Milestone, complete bool) {
	switch n := order.Parcels(); {
	case n == 0 || d.comesTo(order.State, d.definition().Gone()):
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

// leftInParcels reports whether the order's parcels hold all of its pieces. They do not if a caller
// applied "ship" before all pieces were in parcels.
func leftInParcels(order *transitions.Order) bool {
	return !slices.ContainsFunc(order.Items, func(i transitions.Item) bool { return i.Shipped < i.Quantity })
}

// ApplyParcels moves an order to the state that the noted reports of its parcels give. Call it after a
// caller has applied "ship" to an order with parcels: if all of these were already delivered or had
// come back, no further report moves the order. A repeat changes nothing, and an order that has moved
// on stays where it is.
func (d *Receiver) ApplyParcels(ctx context.Context, id transitions.OrderID) error {
	order, found, err := d.cfg.Orders.Get(ctx, id)
	if err != nil || !found || order.Parcels() == 0 {
		return err
	}

	noted, err := d.readNotes(ctx, order)
	if err != nil {
		return err
	}

	m, complete := d.endOf(order, noted)
	if !complete {
		return nil
	}

	r := shipping.Report{ID: parcelsReport(order, m), Shipment: parcelsShipment(order), OrderID: string(id), Milestone: m}
	// A person may have closed this return, like a report of the carrier.
	if done, err := d.isDone(ctx, r); err != nil || done {
		return err
	}

	rule, err := d.moveOrder(ctx, order, r)
	if err != nil || rule.command == "" {
		return err
	}

	return d.wait(ctx, r, finding{Attention, rule.reason, rule.command})
}

// parcelsReport is the id of a report that ApplyParcels makes.
func parcelsReport(order *transitions.Order, m shipping.Milestone) string {
	return ids.Fit("parcels/"+ids.Encode(order.LifeID())+"/"+string(m), shipping.MaxReportID)
}

// notes are the names of an order's parcels that were delivered, and of the parcels that have come
// back.
type notes struct{ delivered, returned []string }

// ended returns how many parcels were delivered or have come back. A parcel with both notes counts
// once.
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
func (d *Receiver) noteParcel(ctx context.Context, order *transitions.Order, r shipping.Report) (notes, error) {
	in := dynamo.NewUpdate(d.cfg.Table, parcelsKey(order, "")).
		Alias("#milestone", string(r.Milestone)).
		// The attribute is a set: a repeat adds nothing, and concurrent calls do not overwrite each other.
		Add("#milestone :parcel").
		Bind(":parcel", dynamo.SS(r.Parcel)).
		SetValue(ExpiryAttribute, dynamo.Seconds(d.now().Add(keepParcels))).
		Input()
	// The answer has every note up to this one. So if the last two parcels are noted at the same moment,
	// at least one call sees both notes.
	in.ReturnValues = types.ReturnValueAllNew

	out, err := d.cfg.DynamoDB.UpdateItem(ctx, in)
	if err != nil {
		return notes{}, fmt.Errorf("note the parcel: %w", err)
	}

	return decodeNotes(out.Attributes), nil
}

func (d *Receiver) readNotes(ctx context.Context, order *transitions.Order) (notes, error) {
	row, err := d.get(ctx, parcelsKey(order, ""))
	return decodeNotes(row), err
}

// noteLines stores the lines of a parcel. The order has counted them as sent.
func (d *Receiver) noteLines(ctx context.Context, order *transitions.Order, r shipping.Report) error {
	text, err := json.Marshal(r.Lines)
	if err != nil {
		return err
	}

	update := dynamo.NewUpdate(d.cfg.Table, parcelsKey(order, r.Parcel)).
		SetValue("lines", dynamo.S(string(text))).
		// A repeat of the report does not change when the first one came.
		Set("leftAt = if_not_exists(leftAt, :now)").
		Bind(":now", dynamo.Millis(d.now())).
		SetValue(ExpiryAttribute, dynamo.Seconds(d.now().Add(keepParcels)))
	if _, err := d.cfg.DynamoDB.UpdateItem(ctx, update.Input()); err != nil {
		return fmt.Errorf("note the parcel's lines: %w", err)
	}

	return nil
}

// linesOf returns the lines that the parcel had when it left: the noted lines, or the lines of the
// report. The order has a digest of the lines, so lines that do not match it are not used. LinesOf
// returns none if neither match.
func (d *Receiver) linesOf(ctx context.Context, order *transitions.Order, r shipping.Report) ([]transitions.ParcelLine, error) {
	row, err := d.get(ctx, parcelsKey(order, r.Parcel))
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
