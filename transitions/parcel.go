package transitions

import (
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

// key is the parcel's member in the order's map of parcels.
func (p Parcel) key() string { return traceKey(digestOf(p.ID)) }

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
	counting, meter := o.metered()

	result, err := counting.shipParcel(ctx, p)
	if err != nil {
		return Result{}, &Error{Order: p.OrderID, Event: workflow.Ship, Err: err}
	}
	o.consumed(meter, p.OrderID, result.Verdict)
	o.decided(ctx, Request{OrderID: p.OrderID, Event: workflow.Ship, RequestID: p.request()}, result.Verdict)

	return result, nil
}

func (o *Orders) shipParcel(ctx context.Context, p Parcel) (Result, error) {
	if err := p.Validate(); err != nil {
		return Result{}, err
	}

	if len(o.def.Groups(workflow.Ship)) == 0 || len(o.def.Groups(workflow.ShipPart)) == 0 {
		return Result{Verdict: Illegal}, nil
	}

	order, found, err := o.Get(ctx, p.OrderID)
	if err != nil || !found {
		return Result{Verdict: NotFound}, err
	}

	call := ""
	for attempt := range o.cfg.Attempts {
		if result, decided, err := o.sentBefore(ctx, p, order, call); err != nil || decided {
			if attempt > 0 {
				err = unsettled(err)
			}
			return result, err
		}

		w, refusal, err := o.planParcel(p, order)
		if err != nil || refusal.Verdict != 0 {
			return refusal, err
		}

		call = w.call
		moved, old, err := o.sendKnown(ctx, w, order)
		switch {
		case err != nil:
			return Result{}, err
		case moved != nil:
			t, _ := moved.slot(w.id)
			return Result{Verdict: Applied, Transition: t, Order: moved}, nil
		case old == nil:
			return Result{Verdict: NotFound}, nil
		}
		order = old
	}

	return Result{}, ErrContended
}

// planParcel prepares the write that sends the parcel, from the order as it stands.
func (o *Orders) planParcel(p Parcel, order *Order) (write, Result, error) {
	if err := o.CheckVersion(order); err != nil {
		return write{}, Result{}, err
	}

	load, reason, err := p.load(order)
	if err != nil {
		return write{}, Result{}, err
	}
	// The lines are as they were read as long as the order has not moved: If-Match.
	r := Request{OrderID: p.OrderID, Event: load.event, RequestID: p.request(), IfMatch: &order.TransitionID}
	groups := o.def.Groups(r.Event)
	move, unmet, possible, err := choose(r, groups, order)
	switch {
	case err != nil:
		return write{}, Result{}, err
	case !possible:
		return write{}, Result{Verdict: WrongState, Order: order, Expected: expected(groups), Reason: unmet}, nil
	case reason != "":
		return write{}, Result{Verdict: WrongState, Order: order, Expected: expected(groups), Reason: reason}, nil
	}
	w := o.prepare(r, order.TransitionID+1, workflow.Group{From: []workflow.State{order.State}, To: move.To, Guards: move.Guards}, traceAssigned)
	w.load = &load

	return w, Result{}, nil
}

// sentBefore looks for the parcel among those that the order has sent.
func (o *Orders) sentBefore(ctx context.Context, p Parcel, order *Order, call string) (Result, bool, error) {
	known, found := order.parcels[p.key()].(*types.AttributeValueMemberB)
	if !found {
		return Result{}, false, nil
	}

	if content := p.content(); string(known.Value) != string(content[:]) {
		return Result{Verdict: Conflict, Order: order, Reason: "the parcel was reported with other lines"}, true, nil
	}

	t, found, err := o.madeBefore(ctx, Request{OrderID: p.OrderID, RequestID: p.request()}, order)
	switch {
	case err != nil:
		return Result{}, false, err
	case !found:
		return Result{}, false, fmt.Errorf("order %s: parcel %s has no transition: %w", order.ID, p.ID, ErrJournalBroken)
	case call != "" && t.call == call:
		return Result{Verdict: Applied, Transition: t, Order: order}, true, nil
	}

	return Result{Verdict: Replayed, Transition: t, Order: order}, true, nil
}

// load is what a parcel changes in the order.
type load struct {
	event   workflow.Event
	shipped map[int]int64 // pieces of a line that have left after this parcel, by index
	key     string
	content digest
	first   bool // no parcel has been sent before
}

// load distributes the parcel's pieces over the order's lines. The reason says why it
// cannot.
func (p Parcel) load(order *Order) (l load, reason string, err error) {
	l = load{event: workflow.ShipPart, shipped: map[int]int64{}, key: p.key(), content: p.content(), first: order.parcels == nil}
	if len(order.parcels) >= maxParcels {
		return l, "", &LimitError{What: "parcels", Limit: maxParcels}
	}

	lines := make([]workflow.Line, len(order.Items))
	for i, item := range order.Items {
		lines[i] = workflow.Line{Ordered: item.Quantity, Shipped: item.Shipped}
	}

	for _, part := range p.Lines {
		rest := part.Quantity
		for i, item := range order.Items {
			if open := item.Quantity - item.Shipped; item.SKU == part.SKU && rest > 0 && open > 0 {
				lines[i].Shipped += min(open, rest)
				l.shipped[i] = lines[i].Shipped
				rest -= min(open, rest)
			}
		}

		if rest > 0 {
			return l, fmt.Sprintf("the parcel has %d pieces of %s more than the order still has to send", rest, part.SKU), nil
		}
	}
	l.event, err = workflow.ShippedEvent(lines)

	return l, "", err
}

// expression adds what the write's parcel changes to an update and its names.
func (w write) expression(names map[string]string, values image) (*string, map[string]string) {
	update := w.updateExpression()
	if w.load == nil {
		return update, names
	}

	names = maps.Clone(names)
	if names == nil {
		names = map[string]string{}
	}
	names["#items"], names["#shipped"], names["#parcels"] = "items", "shipped", "parcels"
	b := strings.Builder{}
	b.WriteString(*update) // one with a request id, which ends with SET

	for _, i := range slices.Sorted(maps.Keys(w.load.shipped)) {
		n := strconv.Itoa(i)
		b.WriteString(", #items[" + n + "].#shipped = :l" + n)
		values[":l"+n] = dynamo.N(w.load.shipped[i])
	}

	if w.load.first {
		b.WriteString(", #parcels = :parcel")
		values[":parcel"] = dynamo.M(image{w.load.key: w.load.content.value()})
	} else {
		names["#parcel"] = w.load.key
		b.WriteString(", #parcels.#parcel = :parcel")
		values[":parcel"] = w.load.content.value()
	}
	text := b.String()

	return &text, names
}

// loaded is the order after the load.
func (o *Order) loaded(l *load) {
	o.Items, o.parcels = slices.Clone(o.Items), maps.Clone(o.parcels)
	for i, n := range l.shipped {
		o.Items[i].Shipped = n
	}

	if o.parcels == nil {
		o.parcels = image{}
	}
	o.parcels[l.key] = l.content.value()
}
