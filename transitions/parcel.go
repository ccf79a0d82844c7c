package transitions

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Parcel is a part of an order's pieces that leaves together.
type Parcel struct {
	OrderID OrderID `json:"orderId"`
	// ID names the parcel within its order, like a tracking number: 1 to 128 characters
	// of A-Z a-z 0-9 _ . : -
	ID string `json:"parcelId"`
	// Lines has 1 to 50 lines, each with another SKU.
	Lines []ParcelLine `json:"lines"`
	// Own changes attributes of the caller's own in the same write. It is part of the parcel's content.
	Own OwnChange `json:"own,omitzero"`
	// Incarnation is the life of the order that the caller has seen; see [Request].
	Incarnation Incarnation `json:"-"`
	// Cause says why, and by whom, the parcel is reported. It is no part of the parcel's content.
	Cause Cause `json:"-"`
}

// ParcelLine is how many pieces of a SKU a parcel holds, at least 1.
type ParcelLine struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

const (
	maxParcelLines = 50  // of a parcel; expressions are limited to 4 KB
	maxParcels     = 100 // of an order; each takes about 60 bytes of the item
)

var parcelIDRule = newRule(128, func(c byte) bool { return strings.IndexByte(asciiLetters+"0123456789_.:-", c) >= 0 })

// Validate returns an ErrInvalidRequest that names the first field that breaks a rule, and
// the rule.
func (p Parcel) Validate() error {
	if err := p.OrderID.Validate(); err != nil {
		return err
	}

	switch {
	case !parcelIDRule.holds(p.ID):
		return fmt.Errorf("%w: parcelId %q: 1 to 128 characters of A-Z a-z 0-9 _ . : -", ErrInvalidRequest, clip(p.ID))
	case len(p.Lines) == 0 || len(p.Lines) > maxParcelLines:
		return fmt.Errorf("%w: lines: %d, 1 to %d", ErrInvalidRequest, len(p.Lines), maxParcelLines)
	}

	if err := p.Incarnation.validateSeen(); err != nil {
		return err
	}

	seen := map[string]bool{}
	for i, l := range p.Lines {
		switch {
		case !skuRule().MatchString(l.SKU):
			return fmt.Errorf("%w: lines[%d].sku: 1 to 128 printable ASCII characters without spaces", ErrInvalidRequest, i)
		case seen[l.SKU]:
			return fmt.Errorf("%w: lines[%d].sku: appears twice", ErrInvalidRequest, i)
		case l.Quantity < 1:
			return fmt.Errorf("%w: lines[%d].quantity %d: at least 1", ErrInvalidRequest, i, l.Quantity)
		}
		seen[l.SKU] = true
	}

	return p.Cause.validateOf(p.OrderID)
}

// MadeBy reports whether the order has sent the parcel.
func (p Parcel) MadeBy(o *Order) bool { return o.HasParcel(p.ID) }

// request returns the request id of the transition that the parcel makes.
func (p Parcel) request() RequestID { return RequestID(parcelKeys + p.ID) }

// content returns the digest that must be equal when the parcel is reported again. It does
// not depend on the order of the lines.
func (p Parcel) content() digest {
	bySKU := func(a, b ParcelLine) int { return strings.Compare(a.SKU, b.SKU) }

	var parts []string
	for _, l := range slices.SortedFunc(slices.Values(p.Lines), bySKU) {
		parts = append(parts, l.SKU, strconv.FormatInt(l.Quantity, 10))
	}

	// An odd number of parts, so that it is no parcel of other lines.
	if own := p.Own.digest(); own != (digest{}) {
		parts = append(parts, string(own[:]))
	}

	return digestOf(parts...)
}

// ShipParcel counts the parcel's pieces as shipped and moves the order, in one conditional
// write. The event is the definition's [workflow.Shipping].Left if with this parcel every piece of
// the order has left, and its Part otherwise. The state therefore does not depend on the sequence in
// which parcels are reported. A definition without Part is Illegal.
//
// The verdicts are the same as for Apply. The parcel's ID identifies the request: the same parcel
// again is Replayed, with other lines or own attributes it is a Conflict. A parcel with more pieces than the
// order still has to send is WrongState, with the reason. An order that has 100 parcels
// already is ErrOrderFull. One read, one write.
//
// An order that is shipped as a whole needs no parcels: Apply with the event Left moves it without
// counting pieces.
func (o *Orders) ShipParcel(ctx context.Context, p Parcel) (Result, error) {
	event := o.def.Shipping().Left
	ctx, meter := o.metered(ctx)
	ctx, trace, end := o.begin(ctx, p.OrderID, event, p.Cause.Trace)
	p.Cause.Trace = trace

	result, err := o.shipParcel(ctx, p)
	end(result, err)

	if err != nil {
		return Result{}, &Error{Order: p.OrderID, Event: event, Err: err}
	}
	o.report(ctx, meter, Request{OrderID: p.OrderID, Event: event, RequestID: p.request(), Cause: p.Cause}, result)

	return result, nil
}

func (o *Orders) shipParcel(ctx context.Context, p Parcel) (Result, error) {
	if err := p.Validate(); err != nil {
		return Result{}, err
	}

	if err := p.Own.Validate(o.cfg.Mapping); err != nil {
		return Result{}, err
	}

	// key is the digest of the request id and not RequestID.key: no caller's request has this
	// digest (see RequestID.key).
	plan := &move{
		orders:   o,
		request:  Request{OrderID: p.OrderID, RequestID: p.request(), Incarnation: p.Incarnation, Own: p.Own, Cause: p.Cause},
		key:      p.request().digest(),
		parcel:   &parcelPlan{id: p.ID, lines: p.Lines, key: traceKey(digestOf(p.ID)), content: p.content()},
		assigned: true,
		call:     newCallID(),
	}

	if o.def.Shipping().Part == "" {
		plan.refusal.result.Verdict = Illegal
	}

	return o.run(ctx, plan, sight{id: p.OrderID, life: p.Incarnation})
}

// parcelPlan is a parcel as the write loop needs it.
type parcelPlan struct {
	id      string
	lines   []ParcelLine
	key     string // the parcel's member in the order's map of parcels
	content digest
}

// parcelUpdate holds the changes that a parcel makes in the order, in addition to its state.
type parcelUpdate struct {
	event   workflow.Event
	shipped map[int]int64 // new number of shipped pieces, by index of the line
	key     string
	content digest
	first   bool // the order has no map of parcels yet
	// list is the whole list of lines after the parcel, if too many lines change to set each by its
	// place; nil otherwise.
	list types.AttributeValue
}

// maxLinesSet is how many lines a parcel sets by their places. Each takes about 25 bytes of the
// expression, which is limited to 4 KB, and the guards of the transition need room, too.
const maxLinesSet = 64

// update distributes the pieces of the parcel over the lines of the order. If the order
// has fewer pieces left to send, it returns the reason of the refusal.
func (p *parcelPlan) update(order *Order, shipping workflow.Shipping) (u *parcelUpdate, reason string, err error) {
	u = &parcelUpdate{
		event:   shipping.Part,
		shipped: map[int]int64{},
		key:     p.key,
		content: p.content,
		first:   order.parcels == nil,
	}
	if err := order.Readable("items", "parcels"); err != nil {
		return u, "", err
	}

	if len(order.parcels) >= maxParcels {
		return u, "", &LimitError{What: "parcels", Limit: maxParcels}
	}

	lines := make([]workflow.Line, len(order.Items))
	for i, item := range order.Items {
		lines[i] = workflow.Line{Ordered: item.Quantity, Shipped: item.Shipped}
	}

	for _, part := range p.lines {
		// Several lines may have the same SKU. The pieces fill them in the order's sequence.
		rest := part.Quantity
		for i, item := range order.Items {
			open := item.Quantity - item.Shipped
			if item.SKU != part.SKU || rest == 0 || open <= 0 {
				continue
			}

			pieces := min(open, rest)
			lines[i].Shipped += pieces
			u.shipped[i] = lines[i].Shipped
			rest -= pieces
		}

		if rest > 0 {
			return u, fmt.Sprintf("the parcel has %d pieces of %s more than the order still has to send", rest, part.SKU), nil
		}
	}

	if len(u.shipped) > maxLinesSet {
		u.list = order.linesAfter(u.shipped)
	}
	u.event, err = shipping.Event(lines)

	return u, "", err
}

// linesAfter returns the order's list of lines with new numbers of shipped pieces. What else a line has
// stays as it is.
func (o *Order) linesAfter(shipped map[int]int64) types.AttributeValue {
	lines := slices.Clone(o.item["items"].(*types.AttributeValueMemberL).Value)
	for i, n := range shipped {
		line := maps.Clone(lines[i].(*types.AttributeValueMemberM).Value)
		line["shipped"] = dynamo.N(n)
		lines[i] = dynamo.M(line)
	}

	return &types.AttributeValueMemberL{Value: lines}
}

// extend adds the parcel's changes to the update expression of a transition, which begins with
// SET, and to its names and values.
func (u *parcelUpdate) extend(update *string, names map[string]string, values image) (*string, map[string]string) {
	if names == nil {
		names = map[string]string{}
	}
	names["#items"], names["#parcels"] = "items", "parcels"

	if u.list != nil {
		values[":lines"] = u.list
		update = alsoSetting("#items", ":lines", update)
	} else {
		update = u.setLines(update, names, values)
	}

	// One update cannot set a map and a member of it.
	if u.first {
		values[":parcel"] = dynamo.M(image{u.key: u.content.value()})
		return alsoSetting("#parcels", ":parcel", update), names
	}

	names["#parcel"] = u.key
	values[":parcel"] = u.content.value()

	return alsoSetting("#parcels.#parcel", ":parcel", update), names
}

// setLines sets each changed line by its place.
func (u *parcelUpdate) setLines(update *string, names map[string]string, values image) *string {
	names["#shipped"] = "shipped"

	// Sorted, so that the same parcel always renders the same text; backward, because alsoSetting
	// adds at the front.
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(u.shipped))) {
		n := strconv.Itoa(i)
		update = alsoSetting("#items["+n+"].#shipped", ":l"+n, update)
		values[":l"+n] = dynamo.N(u.shipped[i])
	}

	return update
}

// apply makes the changes in an order in memory. The order may be a copy that shares lines
// and parcels with its original, so both are cloned first.
func (u *parcelUpdate) apply(o *Order) {
	o.Items, o.parcels = slices.Clone(o.Items), maps.Clone(o.parcels)
	for i, n := range u.shipped {
		o.Items[i].Shipped = n
	}

	if o.parcels == nil {
		o.parcels = image{}
	}
	o.parcels[u.key] = u.content.value()
}

// Parcels returns how many parcels of the order have been reported by [Orders.ShipParcel].
func (o *Order) Parcels() int { return len(o.parcels) }

// HasParcel reports whether a parcel with the ID has been reported.
func (o *Order) HasParcel(id string) bool { return o.parcels[traceKey(digestOf(id))] != nil }

// Sent reports whether the order has sent this parcel: its ID with exactly these lines, in any
// order.
func (o *Order) Sent(p Parcel) bool {
	known, found := o.parcels[traceKey(digestOf(p.ID))].(*types.AttributeValueMemberB)
	content := p.content()

	return found && bytes.Equal(known.Value, content[:])
}
