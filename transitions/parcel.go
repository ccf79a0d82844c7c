package transitions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Parcel is a part of an order that leaves the house.
type Parcel struct {
	OrderID OrderID `json:"orderId"`
	// ID names the parcel within its order, like a tracking number: 1 to 128 characters
	// of A-Z a-z 0-9 _ . : -
	ID string `json:"parcelId"`
	// Lines: 1 to 50, each SKU once.
	Lines []ParcelLine `json:"lines"`
}

// ParcelLine is how many pieces of a SKU a parcel holds, at least 1.
type ParcelLine struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

const (
	maxParcelLines = 50  // expressions have 4 KB
	maxParcels     = 100 // of an order; each takes about 60 bytes of the item
)

// Validate names the first field that breaks a rule, and the rule.
func (p Parcel) Validate() error {
	if err := p.OrderID.Validate(); err != nil {
		return err
	}

	switch {
	case !orderIDRule.holds(p.ID):
		return fmt.Errorf("%w: parcelId %q: 1 to 128 characters of A-Z a-z 0-9 _ . : -", ErrInvalidRequest, clip(p.ID))
	case len(p.Lines) == 0 || len(p.Lines) > maxParcelLines:
		return fmt.Errorf("%w: lines: %d, 1 to %d", ErrInvalidRequest, len(p.Lines), maxParcelLines)
	}

	seen := map[string]bool{}
	for i, l := range p.Lines {
		switch {
		case !skuRule.MatchString(l.SKU):
			return fmt.Errorf("%w: lines[%d].sku: 1 to 128 printable ASCII characters without spaces", ErrInvalidRequest, i)
		case seen[l.SKU]:
			return fmt.Errorf("%w: lines[%d].sku: is there twice", ErrInvalidRequest, i)
		case l.Quantity < 1:
			return fmt.Errorf("%w: lines[%d].quantity %d: at least 1", ErrInvalidRequest, i, l.Quantity)
		}
		seen[l.SKU] = true
	}

	return nil
}

// request names the transition that the parcel makes.
func (p Parcel) request() RequestID { return RequestID("parcel/" + p.ID) }

// content is what must be equal between two reports of one parcel, in any order of lines.
func (p Parcel) content() digest {
	var parts []string
	for _, l := range slices.SortedFunc(slices.Values(p.Lines), func(a, b ParcelLine) int { return strings.Compare(a.SKU, b.SKU) }) {
		parts = append(parts, l.SKU, strconv.FormatInt(l.Quantity, 10))
	}

	return digestOf(parts...)
}

// ShipParcel counts the parcel's pieces as shipped and moves the order, in one
// conditional write: by "ship" when with this parcel every piece has left, by "ship_part"
// as long as some have not. The state follows the quantities and not the order in which
// parcels are reported. The verdicts are Apply's; the parcel's ID is the request: the
// same parcel again is Replayed, with other lines it is a Conflict. A parcel with more
// pieces than the order still has to send is WrongState, with the reason. One read, one
// write.
//
// An order that is shipped as a whole needs no parcels: Apply's "ship" moves it, and
// counts no pieces.
func (o *Orders) ShipParcel(ctx context.Context, p Parcel) (Result, error) {
	ctx, meter := o.metered(ctx)

	result, err := o.shipParcel(ctx, p)
	if err != nil {
		return Result{}, &Error{Order: p.OrderID, Event: workflow.Ship, Err: err}
	}
	o.report(ctx, meter, Request{OrderID: p.OrderID, Event: workflow.Ship, RequestID: p.request()}, result.Verdict)

	return result, nil
}

func (o *Orders) shipParcel(ctx context.Context, p Parcel) (Result, error) {
	if err := p.Validate(); err != nil {
		return Result{}, err
	}

	if len(o.def.Groups(workflow.Ship)) == 0 || len(o.def.Groups(workflow.ShipPart)) == 0 {
		return Result{Verdict: Illegal}, nil
	}

	return o.run(ctx, &plan{
		request:  Request{OrderID: p.OrderID, RequestID: p.request()},
		key:      p.request().digest(),
		parcel:   &parcelPlan{id: p.ID, lines: p.Lines, key: traceKey(digestOf(p.ID)), content: p.content()},
		assigned: true,
		call:     newCallID(),
	})
}

// parcelPlan is a parcel as the write loop needs it.
type parcelPlan struct {
	id      string
	lines   []ParcelLine
	key     string // the parcel's member in the order's map of parcels
	content digest
}

// parcelUpdate is what a parcel changes in the order, beside its transition.
type parcelUpdate struct {
	event   workflow.Event
	shipped map[int]int64 // pieces of a line that have left after this parcel, by index
	key     string
	content digest
	first   bool // no parcel has been sent before
}

// update distributes the pieces of the parcel over the lines of the order. The reason
// says why it cannot.
func (p *parcelPlan) update(order *Order) (u *parcelUpdate, reason string, err error) {
	u = &parcelUpdate{
		event:   workflow.ShipPart,
		shipped: map[int]int64{},
		key:     p.key,
		content: p.content,
		first:   order.parcels == nil,
	}
	if len(order.parcels) >= maxParcels {
		return u, "", &LimitError{What: "parcels", Limit: maxParcels}
	}

	lines := make([]workflow.Line, len(order.Items))
	for i, item := range order.Items {
		lines[i] = workflow.Line{Ordered: item.Quantity, Shipped: item.Shipped}
	}

	for _, part := range p.lines {
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
	u.event, err = workflow.ShippedEvent(lines)

	return u, "", err
}

// extend adds what the parcel changes to the update of a transition, and to its names
// and values. The update is one with a request id, which ends with its SET clause.
func (u *parcelUpdate) extend(update *string, names map[string]string, values image) (*string, map[string]string) {
	if names == nil {
		names = map[string]string{}
	}
	names["#items"], names["#shipped"], names["#parcels"] = "items", "shipped", "parcels"

	var b strings.Builder
	b.WriteString(*update)

	for _, i := range slices.Sorted(maps.Keys(u.shipped)) {
		n := strconv.Itoa(i)
		b.WriteString(", #items[" + n + "].#shipped = :l" + n)
		values[":l"+n] = dynamo.N(u.shipped[i])
	}

	// One update cannot set a map and a member of it.
	if u.first {
		b.WriteString(", #parcels = :parcel")
		values[":parcel"] = dynamo.M(image{u.key: u.content.value()})
	} else {
		names["#parcel"] = u.key
		b.WriteString(", #parcels.#parcel = :parcel")
		values[":parcel"] = u.content.value()
	}
	text := b.String()

	return &text, names
}

// apply makes the changes in an order in memory, which shares lines and parcels with
// the order that it was copied from.
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
