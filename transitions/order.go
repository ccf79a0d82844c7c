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
	// Unreadable names the attributes of the item that have another form than Ratchet writes, sorted. The
	// order is shown without them. See [Order.Readable].
	Unreadable []string `json:"unreadable,omitempty"`
	// Own are the attributes of the item that are the caller's own. They are nil if the order was not read whole.
	Own Attributes `json:"own,omitempty"`
	// ErasedAt is when the person was erased from the order, zero if that was not done.
	ErasedAt time.Time `json:"erasedAt,omitzero"`

	enteredAt time.Time                    // see EnteredAt; zero without the attribute
	timers    map[workflow.Event]time.Time // see timersAttribute

	placed  digest
	earlier []span // the lives that this one continues
	item    image  // the whole item, for guards; nil if only a part of it was read
	ring    [ringSize]Transition
	broken  [ringSize]bool // slots that cannot be read
	ringed  bool           // the item has the map of the ring, which may be empty
	lined   bool           // the item has the list of lines, which may be empty
	edits   image          // the attribute processedEvents
	parcels image          // the attribute parcels

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
	own      digest // of the request's changes of own attributes; zero if it had none
}

// answers reports whether the transition has the content of the request.
func (t Transition) answers(r Request) bool {
	return t.Event == r.Event && t.narrowed == (r.From != "") && (!t.narrowed || t.From == r.From) &&
		(t.own == r.Own.digest() || t.own == erasedOwn)
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

// EnteredAt returns when the order has entered its state, by the clock of the service. A migration that
// renames the state counts as entering it. If another program has moved the order, or the order has no such
// time, it is what the ring shows, and if the ring does not go back so far, when the order was written last.
func (o *Order) EnteredAt() time.Time {
	// Another program moves the order without this attribute.
	if t, found := o.slot(o.TransitionID); found && t.To == o.State && !o.enteredAt.IsZero() {
		return o.enteredAt
	}

	for _, t := range slices.Backward(o.Recent()) {
		// A transition that leads back into the same state does not count as entering it.
		if t.To == o.State && t.From != o.State {
			return t.At
		}
	}

	return o.UpdatedAt
}

// Attributes that transitions and edits write, and that another program may have used before.
const (
	previousStateAttribute  = "previousState"
	updatedAtAttribute      = "updatedAt"
	enteredAtAttribute      = "enteredAt"
	versionAttribute        = "definitionVersion"
	contentVersionAttribute = "contentVersion"
	recentAttribute         = "recent"
)

// image is an item as DynamoDB returns it.
type image = dynamo.Item

// decode reads an order's item. It fails only if one of the three attributes is missing or of another
// type that every decision needs. What else cannot be read is left out and named in Unreadable: another
// program may use these names, and its attributes stand in the way of nothing that does not need them
// (see [Order.Readable]).
func decode(item image) (*Order, error) {
	r := reader{}
	o := &Order{
		item:         item,
		ID:           OrderID(r.text(item, "orderId")),
		State:        workflow.State(r.text(item, "orderState")),
		TransitionID: TransitionID(r.number(item, "transitionId")),
	}

	if r.err != nil {
		return nil, fmt.Errorf("read order %q: %w: %w", o.ID, ErrUnreadable, r.err)
	}

	o.Incarnation = cmp.Or(part(o, incarnationAttribute, (*reader).incarnation), adoptedIncarnation)
	o.PreviousState = workflow.State(part(o, previousStateAttribute, (*reader).optional))
	o.DefinitionVersion = int(part(o, versionAttribute, (*reader).number))
	o.CreatedAt = part(o, "createdAt", (*reader).time)
	o.UpdatedAt = part(o, updatedAtAttribute, (*reader).time)
	o.enteredAt = part(o, enteredAtAttribute, (*reader).time)
	o.timers = part(o, timersAttribute, (*reader).startsOf)
	o.Customer = part(o, customerAttribute, (*reader).optional)
	o.Reference = part(o, referenceAttribute, (*reader).optional)
	o.Metadata = part(o, metadataAttribute, (*reader).texts)
	o.PlacedBy = part(o, "placedBy", (*reader).optional)
	o.ErasedAt = part(o, erasedAtAttribute, (*reader).time)
	o.placed = part(o, "placeHash", (*reader).digest)
	o.ContentVersion = part(o, contentVersionAttribute, (*reader).number)
	o.Shipping = part(o, addressAttribute(shippingAddress), (*reader).texts)
	o.Billing = part(o, addressAttribute(billingAddress), (*reader).texts)
	o.Notes = part(o, "notes", (*reader).notes)
	o.earlier = part(o, livesAttribute, (*reader).lives)
	o.requestsAt = TransitionID(part(o, requestsAt, (*reader).number))
	o.requestsAfter = TransitionID(part(o, requestsAfter, (*reader).number))
	// The traces of edits stay attributes: only an edit reads them, each by its key (see evidenceOfEdit).
	o.edits = part(o, processedEvents, (*reader).members)
	o.parcels = part(o, "parcels", (*reader).members)
	o.Total = part(o, "total", (*reader).money)
	o.Items = part(o, "items", (*reader).items)
	// An empty list is still a list: the order was placed under a definition with items.
	_, o.lined = item["items"].(*types.AttributeValueMemberL)
	o.Own = own(item)
	o.readRing()
	o.EditCause = o.causeOfNewestEdit(part(o, editCauseAttribute, (*reader).optional))
	slices.Sort(o.Unreadable)

	return o, nil
}

// part reads an attribute of the order's item. If it cannot be read whole, part returns the zero value
// and names the attribute in Unreadable.
func part[T any](o *Order, name string, read func(*reader, image, string) T) (value T) {
	// Most orders lack most of the optional attributes.
	if o.item[name] == nil {
		return value
	}

	r := reader{}
	if v := read(&r, o.item, name); r.err == nil {
		return v
	}
	o.Unreadable = append(o.Unreadable, name)

	return value
}

// readRing reads the attribute recent and the cause. A slot that cannot be read counts as forgotten.
func (o *Order) readRing() {
	r := reader{}
	members := r.members(o.item, recentAttribute)
	o.ringed = members != nil
	o.ring, o.broken = r.ring(members)

	if r.err != nil {
		o.Unreadable = append(o.Unreadable, recentAttribute)
		// Whatever the ring has held is forgotten.
		for k := range o.broken {
			o.broken[k] = o.broken[k] || o.item[recentAttribute] != nil && members == nil
		}
	}

	details := part(o, causeAttribute, (*reader).optional)

	// The item has the details of one cause, the newest. detailsOf drops them if the attribute
	// belongs to an older transition.
	if newest := &o.ring[o.TransitionID%ringSize]; newest.ID == o.TransitionID && newest.ID != 0 {
		newest.Cause.addDetails(o.ID, detailsOf(o.TransitionID, details))
		o.Cause = newest.Cause
	}
}

// Readable returns an [ErrUnreadable] that names the first of the attributes that the order's item has in
// a form that cannot be read. A caller that needs one of these parts asks before: a total that is not
// readable is not a total of 0.
func (o *Order) Readable(attributes ...string) error {
	for _, name := range attributes {
		if slices.Contains(o.Unreadable, name) {
			return fmt.Errorf("order %s: %w: attribute %s has another form than Ratchet writes", o.ID, ErrUnreadable, name)
		}
	}

	return nil
}

// reader reads attributes and keeps the first error.
type reader struct{ err error }

func (r *reader) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("attribute %s is not %s", name, want)
	}
}

// members reads an optional map; absent is nil.
func (r *reader) members(item image, name string) image {
	switch v := item[name].(type) {
	case nil:
		return nil
	case *types.AttributeValueMemberM:
		return v.Value
	}
	r.fail(name, "a map")

	return nil
}

// list reads an optional list of maps; absent is nil.
func (r *reader) list(item image, name string) (maps []image) {
	if item[name] == nil {
		return nil
	}

	list, ok := item[name].(*types.AttributeValueMemberL)
	if !ok {
		r.fail(name, "a list")
		return nil
	}

	for _, v := range list.Value {
		m, ok := v.(*types.AttributeValueMemberM)
		if !ok {
			r.fail(name, "a list of maps")
			return nil
		}
		maps = append(maps, m.Value)
	}

	return maps
}

func (r *reader) money(item image, name string) Money {
	total := r.members(item, name)
	// An amount that is missing is no amount of 0.
	if total["amount"] == nil {
		r.fail(name+".amount", "there")
	}

	return Money{Amount: r.number(total, "amount"), Currency: r.text(total, "currency")}
}

func (r *reader) items(item image, name string) (items []Item) {
	for _, line := range r.list(item, name) {
		items = append(items, Item{
			SKU:      r.text(line, "sku"),
			Quantity: r.number(line, "quantity"),
			Price:    r.number(line, "price"),
			Shipped:  r.number(line, "shipped"),
		})
	}

	return items
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

// incarnation reads the name of a life; absent is "".
func (r *reader) incarnation(item image, name string) Incarnation {
	i := Incarnation(r.text(item, name))
	// It becomes a part of keys, and a text of another program may have a slash.
	if i != adoptedIncarnation && i.validate() != nil {
		r.fail(name, "the name of a life")
	}

	return i
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
	members := r.members(item, name)
	if members == nil {
		return nil
	}

	texts := make(map[string]string, len(members))
	for field := range members {
		texts[field] = r.text(members, field)
	}

	return texts
}

func (r *reader) notes(item image, name string) (notes []Note) {
	for _, m := range r.list(item, name) {
		notes = append(notes, Note{At: r.time(m, "at"), By: r.optional(m, "by"), Text: r.text(m, "text")})
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
