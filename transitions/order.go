package transitions

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Order is an order as its item describes it.
type Order struct {
	ID OrderID `json:"orderId"`
	// Incarnation names this life of the order: an id that is used again, and an order that was
	// restored to an earlier time, has another one. It is part of every key that leaves the order.
	Incarnation Incarnation `json:"incarnation"`
	// State is where the order is, PreviousState where it was before.
	State         workflow.State `json:"state"`
	PreviousState workflow.State `json:"previousState,omitempty"`
	// TransitionID is the id of the newest transition.
	TransitionID TransitionID `json:"transitionId"`
	// DefinitionVersion is the workflow version that made the newest transition.
	DefinitionVersion int `json:"definitionVersion"`
	// Items is empty, and Total zero, if the order was placed under a definition without them.
	Items []Item `json:"items,omitempty"`
	Total Money  `json:"total,omitzero"`
	// ContentVersion counts the edits of the content (items, total, addresses, notes). It
	// is 0 for an order that was never edited.
	ContentVersion int64     `json:"contentVersion,omitempty"`
	Shipping       Address   `json:"shippingAddress,omitempty"`
	Billing        Address   `json:"billingAddress,omitempty"`
	Notes          []Note    `json:"notes,omitempty"`
	CreatedAt      time.Time `json:"createdAt,omitzero"`
	UpdatedAt      time.Time `json:"updatedAt,omitzero"`
	// Cause is the cause of the newest transition.
	Cause Cause `json:"cause,omitzero"`
	// EditCause is the cause of the newest edit of the content.
	EditCause Cause `json:"editCause,omitzero"`
	// Customer, Reference, Metadata and PlacedBy are described at [NewOrder].
	Customer  string   `json:"customer,omitempty"`
	Reference string   `json:"reference,omitempty"`
	Metadata  Metadata `json:"metadata,omitempty"`
	PlacedBy  string   `json:"placedBy,omitempty"`
	// ErasedAt is when the person was erased from the order, zero if that was not done.
	ErasedAt time.Time `json:"erasedAt,omitzero"`

	placed  digest
	earlier []span // the lives that this one continues
	item    image  // the whole item, for guards; nil if only a part of it was read
	ring    [ringSize]Transition
	ringed  bool  // the item has the map of the ring, which may be empty
	lined   bool  // the item has the list of lines, which may be empty
	edits   image // the attribute processedEvents
	parcels image // the attribute parcels

	// requestsAt and requestsAfter say which requests have a row in the table of requests
	// (see requests.go).
	requestsAt, requestsAfter TransitionID
}

// HasLines reports whether the order has a list of lines, which may be empty: whether it was placed
// under a definition with items.
func (o *Order) HasLines() bool { return o.lined }

// Item is one line of an order. Price is the price of one piece, in minor units of the
// order's currency.
type Item struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Price    int64  `json:"price"`
	// Shipped is how many pieces have left in parcels (see [Orders.ShipParcel]). Callers
	// cannot set it.
	Shipped int64 `json:"shipped,omitempty"`
}

// Money is an amount in minor units (cents) with its ISO 4217 code.
type Money struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// Transition is one applied transition.
type Transition struct {
	ID    TransitionID   `json:"transitionId"`
	Event workflow.Event `json:"event"`
	From  workflow.State `json:"from,omitempty"`
	To    workflow.State `json:"to"`
	At    time.Time      `json:"at"`
	// Cause is why it was made. For an older transition, the order has only the code.
	Cause Cause `json:"cause,omitzero"`

	request  digest // of the request id; zero if the caller sent none
	call     string // the id of the call that made it; empty in the journal
	assigned bool   // Apply chose the id
	narrowed bool   // the request named the source state
}

// answers reports whether the transition has the content of the request.
func (t Transition) answers(r Request) bool {
	return t.Event == r.Event && t.narrowed == (r.From != "") && (!t.narrowed || t.From == r.From)
}

// Assigned reports whether Apply chose the id, and not the caller.
func (t Transition) Assigned() bool { return t.assigned }

// Named reports whether the request carried a RequestID. Only its digest is kept.
func (t Transition) Named() bool { return t.request != digest{} }

// IsBy reports whether the request carried this RequestID.
func (t Transition) IsBy(id RequestID) bool { return t.Named() && t.request == id.key() }

// Remembers reports whether the order's ring holds the transition with that id.
func (o *Order) Remembers(id TransitionID) bool {
	_, found := o.slot(id)
	return found
}

// Recent returns the transitions in the order's ring, oldest first. These are the newest 8
// if no ids were skipped. Otherwise an older one may be in the place of a newer one.
func (o *Order) Recent() []Transition {
	var out []Transition
	for _, t := range o.ring {
		if t.ID != 0 {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Transition) int { return cmp.Compare(a.ID, b.ID) })

	return out
}

// EnteredAt returns when the order has entered its state, or, if its ring does not go back so far, when
// it was written last. A migration that renames the state counts as entering it.
func (o *Order) EnteredAt() time.Time {
	for _, t := range slices.Backward(o.Recent()) {
		// A transition that leads back into the same state does not count as entering it.
		if t.To == o.State && t.From != o.State {
			return t.At
		}
	}

	return o.UpdatedAt
}

// image is an item as DynamoDB returns it.
type image = dynamo.Item

// decode reads an order's item. It fails if an attribute has another type than this
// package writes, rather than guess the order's state.
func decode(item image) (*Order, error) {
	r := reader{}

	o := &Order{
		item:              item,
		ID:                OrderID(r.text(item, "orderId")),
		Incarnation:       cmp.Or(Incarnation(r.optional(item, incarnationAttribute)), adoptedIncarnation),
		State:             workflow.State(r.text(item, "orderState")),
		PreviousState:     workflow.State(r.optional(item, "previousState")),
		TransitionID:      TransitionID(r.number(item, "transitionId")),
		DefinitionVersion: int(r.number(item, "definitionVersion")),
		CreatedAt:         r.time(item, "createdAt"),
		UpdatedAt:         r.time(item, "updatedAt"),
		Customer:          r.optional(item, customerAttribute),
		Reference:         r.optional(item, referenceAttribute),
		Metadata:          r.texts(item, metadataAttribute),
		PlacedBy:          r.optional(item, "placedBy"),
		ErasedAt:          r.time(item, erasedAtAttribute),
		placed:            r.digest(item, "placeHash"),
		ContentVersion:    r.number(item, "contentVersion"),
		Shipping:          r.texts(item, addressAttribute(shippingAddress)),
		Billing:           r.texts(item, addressAttribute(billingAddress)),
		Notes:             r.notes(item),
		earlier:           r.lives(item),
		requestsAt:        TransitionID(r.number(item, requestsAt)),
		requestsAfter:     TransitionID(r.number(item, requestsAfter)),
	}
	// The traces of edits stay attributes: only an edit reads them, each by its key (see evidenceOfEdit).
	if edits, ok := item[processedEvents].(*types.AttributeValueMemberM); ok {
		o.edits = edits.Value
	}

	if parcels, ok := item["parcels"].(*types.AttributeValueMemberM); ok {
		o.parcels = parcels.Value
	}

	if total, ok := item["total"].(*types.AttributeValueMemberM); ok {
		o.Total = Money{Amount: r.number(total.Value, "amount"), Currency: r.text(total.Value, "currency")}
	}

	if items, ok := item["items"].(*types.AttributeValueMemberL); ok {
		// An empty list is still a list: the order was placed under a definition with items.
		o.lined = true

		for _, v := range items.Value {
			if line, ok := v.(*types.AttributeValueMemberM); ok {
				o.Items = append(o.Items, Item{
					SKU:      r.text(line.Value, "sku"),
					Quantity: r.number(line.Value, "quantity"),
					Price:    r.number(line.Value, "price"),
					Shipped:  r.number(line.Value, "shipped"),
				})
			}
		}
	}

	if recent, ok := item["recent"].(*types.AttributeValueMemberM); ok {
		o.ring, o.ringed = r.ring(recent.Value), true

		// The item has the details of one cause, the newest. detailsOf drops them if the attribute
		// belongs to an older transition.
		if newest := &o.ring[o.TransitionID%ringSize]; newest.ID == o.TransitionID {
			newest.Cause.addDetails(o.ID, detailsOf(o.TransitionID, r.optional(item, causeAttribute)))
			o.Cause = newest.Cause
		}
	}

	o.EditCause = o.causeOfNewestEdit(r.optional(item, editCauseAttribute))

	if r.err != nil {
		return nil, fmt.Errorf("read order %q: %w: %w", o.ID, ErrUnreadable, r.err)
	}

	return o, nil
}

// reader reads attributes and keeps the first error.
type reader struct{ err error }

func (r *reader) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("attribute %s is not %s", name, want)
	}
}

// text reads a string that must be there.
func (r *reader) text(item image, name string) string {
	v, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		r.fail(name, "a string")
		return ""
	}

	return v.Value
}

// optional reads an optional string; absent is "".
func (r *reader) optional(item image, name string) string {
	switch v := item[name].(type) {
	case nil:
		return ""
	case *types.AttributeValueMemberS:
		return v.Value
	}
	r.fail(name, "a string")

	return ""
}

// number reads an optional whole number; absent is 0.
func (r *reader) number(item image, name string) int64 {
	switch v := item[name].(type) {
	case nil:
		return 0
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			r.fail(name, "a whole number")
		}

		return n
	}
	r.fail(name, "a number")

	return 0
}

// time reads an optional time in epoch milliseconds; absent is the zero time.
func (r *reader) time(item image, name string) time.Time {
	if ms := r.number(item, name); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}

	return time.Time{}
}

// digest reads an optional digest; absent is zero.
func (r *reader) digest(item image, name string) (d digest) {
	value := item[name]
	if value == nil {
		return d
	}

	v, ok := value.(*types.AttributeValueMemberB)
	if !ok || len(v.Value) != len(d) {
		r.fail(name, "a digest of 16 bytes")
		return d
	}

	return digest(v.Value)
}

// texts reads an optional map of strings; absent is nil.
func (r *reader) texts(item image, name string) map[string]string {
	m, ok := item[name].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}

	texts := make(map[string]string, len(m.Value))
	for field := range m.Value {
		texts[field] = r.text(m.Value, field)
	}

	return texts
}

func (r *reader) notes(item image) (notes []Note) {
	list, ok := item["notes"].(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}

	for _, v := range list.Value {
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			notes = append(notes, Note{At: r.time(m.Value, "at"), By: r.optional(m.Value, "by"), Text: r.text(m.Value, "text")})
		}
	}

	return notes
}

// Position is where an order is. An execution passes it from step to step.
type Position struct {
	OrderID      OrderID        `json:"orderId"`
	Incarnation  Incarnation    `json:"incarnation"`
	State        workflow.State `json:"state"`
	TransitionID TransitionID   `json:"transitionId"`
}

// Position returns where the order is.
func (o *Order) Position() Position { return Position{o.ID, o.Incarnation, o.State, o.TransitionID} }

// Reached reports whether the order is in the state, or has entered it after the
// transition since, as far as the ring shows.
func (o *Order) Reached(s workflow.State, since TransitionID) bool {
	if o.State == s {
		return true
	}

	for _, t := range o.ring {
		if t.ID > since && t.To == s {
			return true
		}
	}

	return false
}
