package transitions

import (
	"context"
	"fmt"
	"slices"

	"ratchet/workflow"
)

// Edit identifies one change of an order's content: its lines, addresses and notes, which
// may be corrected before payment. An edit is no transition. It changes neither state nor
// transitionId, and readers of the stream ignore it.
type Edit struct {
	OrderID OrderID `json:"orderId"`
	// EventID is the idempotency key of the edit: 1 to 255 printable ASCII characters.
	// The same EventID with the same content is one edit, however often it is sent, as
	// long as the order remembers it (see [Config].EditMemory).
	EventID RequestID `json:"eventId"`
	// IfMatch is the contentVersion that the caller has seen. The edit is Superseded if
	// the content has changed since. Nil: any version.
	IfMatch *int64 `json:"ifMatch,omitempty"`
	// Incarnation is the life of the order that the caller has seen, "" for any; see [Request].
	Incarnation Incarnation `json:"-"`
	// Seen is the order as the caller read it or as an earlier edit returned it. With it,
	// ChangeItem and RemoveItem need no read. An outdated order costs one more write but
	// never changes the answer. Optional.
	Seen *Order `json:"-"`
	// With names the other changes in the transaction of AddItemsIn, such as "stock". It is
	// part of the content: the same lines with another With are another edit. Optional.
	With string `json:"-"`
	// Own changes attributes of the caller's own in the same write. It is part of the content. SetOwn has a change of
	// its own, and takes no other.
	Own OwnChange `json:"own,omitzero"`
	// Cause says why the content is edited, and by whom. It is no part of the edit's content. The
	// order keeps the cause of its newest edit ([Order].EditCause). Optional.
	Cause Cause `json:"cause,omitzero"`
}

// editKind names a kind of edits. It is part of the edit's digest and of errors.
type editKind string

// The kinds of edits.
const (
	editAddItems   editKind = "add_items"
	editChangeItem editKind = "change_item"
	editRemoveItem editKind = "remove_item"
	editSetAddress editKind = "set_address"
	editAddNote    editKind = "add_note"
	editSetOwn     editKind = "set_own"
)

// Editable returns the states in which an order's content may be edited, as the definition says.
func (o *Orders) Editable() []workflow.State { return slices.Clone(o.def.Editable()) }

// LimitError is an [ErrOrderFull] that says which bound an edit or a parcel would exceed.
type LimitError struct {
	// What is bounded, like "items", "items: different SKUs", "notes", "parcels", "total.amount"
	// or "item bytes".
	What string
	// Limit is the bound.
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %s: at most %d", ErrOrderFull, e.What, e.Limit)
}

// Is reports whether target is ErrOrderFull.
func (e *LimitError) Is(target error) bool { return target == ErrOrderFull }

// AddItems appends lines, at most 100 at once and 1,000 in an order, and adds their cost to
// the total. It fails with ErrOrderFull if the order has no room, or would have more than 97
// different SKUs. One write, no read; one write more if the order would have more than 97
// lines and Edit.Seen is not set.
func (o *Orders) AddItems(ctx context.Context, e Edit, lines ...Item) (Result, error) {
	return o.edit(ctx, e, editAddItems, &addItems{lines})
}

// ChangeItem sets the quantity and price of the first line with the SKU and changes the
// total by the difference. It is NotFound if the order has no such line. One read (none
// with Edit.Seen), one write.
func (o *Orders) ChangeItem(ctx context.Context, e Edit, line Item) (Result, error) {
	return o.edit(ctx, e, editChangeItem, &changeItem{line})
}

// RemoveItem removes every line with the SKU, at most 20, and subtracts their cost from the
// total. It is NotFound if the order has no such line, and WrongState if the total would be
// negative. One read (none with Edit.Seen), one write.
func (o *Orders) RemoveItem(ctx context.Context, e Edit, sku string) (Result, error) {
	return o.edit(ctx, e, editRemoveItem, &removeItem{sku})
}

// SetAddress replaces the address of the kind, "shipping" or "billing". One write, no read.
func (o *Orders) SetAddress(ctx context.Context, e Edit, kind string, address Address) (Result, error) {
	return o.edit(ctx, e, editSetAddress, &setAddress{kind, address})
}

// AddNote appends a note and sets its time to now. It fails with ErrOrderFull if the
// order has 100 notes already. One write, no read.
func (o *Orders) AddNote(ctx context.Context, e Edit, note Note) (Result, error) {
	note.At = o.clock.Now()
	return o.edit(ctx, e, editAddNote, &addNote{note})
}

// SetOwn sets and removes attributes of the caller's own. It is WrongState if one of the conditions does not hold.
// One write, no read.
func (o *Orders) SetOwn(ctx context.Context, e Edit, c OwnChange) (Result, error) {
	return o.edit(ctx, e, editSetOwn, &setOwn{c, o.cfg.Mapping})
}

// change is an edit of one kind: its rules, its digest and its part of the write.
type change interface {
	// validate names the first field that breaks a rule.
	validate() error
	// content is the digest of everything that must be equal when the edit is sent again.
	content() digest
	// blind reports whether the write can be planned without knowing the order.
	blind() bool
	// plan adds the change to the draft. The order may be nil if blind returns true. A
	// refusal is a verdict with its reason; an error is a LimitError.
	plan(order *Order, d draft) (refusal Verdict, reason string, err error)
}

// validate checks what all kinds of edits have in common. Its ErrInvalidRequest names the
// first field that breaks a rule.
func (e Edit) validate() error {
	if err := e.OrderID.Validate(); err != nil {
		return err
	}

	if err := e.Incarnation.validateSeen(); err != nil {
		return err
	}

	switch {
	case !requestIDRule.holds(string(e.EventID)):
		return fmt.Errorf("%w: eventId: 1 to 255 printable ASCII characters", ErrInvalidRequest)
	case e.IfMatch != nil && *e.IfMatch < 0:
		return fmt.Errorf("%w: ifMatch %d: content versions count from 0", ErrInvalidRequest, *e.IfMatch)
	case e.Seen != nil && e.Seen.ID != e.OrderID:
		return fmt.Errorf("%w: seen: is order %s, not %s", ErrInvalidRequest, e.Seen.ID, e.OrderID)
	}

	return e.Cause.validateOf(e.OrderID)
}

// validateEdit returns an ErrInvalidRequest that names what is wrong with the edit in every order of the table.
func (o *Orders) validateEdit(e Edit, c change) error {
	if err := e.validate(); err != nil {
		return err
	}

	if _, sets := c.(*setOwn); sets && !e.Own.IsZero() {
		return fmt.Errorf("%w: own: SetOwn takes its change as an argument", ErrInvalidRequest)
	}

	if err := c.validate(); err != nil {
		return err
	}

	return e.Own.Validate(o.cfg.Mapping)
}

// edit validates and applies one edit, and reports it.
func (o *Orders) edit(ctx context.Context, e Edit, kind editKind, c change) (Result, error) {
	err := o.validateEdit(e, c)

	var result Result
	ctx, meter := o.metered(ctx)
	if err == nil {
		p := o.newEdit(e, kind, c)
		result, err = o.run(ctx, p, p.seen())
	}

	if err != nil {
		return Result{}, &Error{Order: e.OrderID, Event: workflow.Event(kind), Err: err}
	}
	o.reportConsumed(meter, e.OrderID, result.Verdict)
	o.reportRefusal(workflow.Event(kind), e.Cause.Source, result.Order, result.Verdict, result.Expected, result.Reason)
	o.cfg.Log.DebugContext(ctx, "edit", "order", e.OrderID, "kind", kind, "edit", e.EventID, "verdict", result.Verdict)

	return result, nil
}

// edition is the plan of one edit.
type edition struct {
	orders  *Orders
	edit    Edit
	change  change
	content digest
	call    string
	// refusal is how the definition refuses the edit, see refusalOf.
	refusal decision
}

// newEdit returns the plan of a valid edit.
func (o *Orders) newEdit(e Edit, kind editKind, c change) *edition {
	return &edition{orders: o, edit: e, change: c, content: e.contentOf(kind, c), call: newCallID(), refusal: o.refusalOf(c)}
}

// seen is what is known of the order at first: what the caller has seen, which may be outdated. It may plan
// a write, but not decide the answer.
func (p *edition) seen() sight {
	s := sight{id: p.edit.OrderID, life: p.edit.Incarnation}
	if seen := p.edit.Seen; seen != nil {
		// If the edit was made already, the answer needs the order as it is now.
		if _, made := seen.evidenceOfEdit(p.edit.EventID.digest()); !made {
			s.order = seen
		}
	}

	return s
}

// decide finds the answer to the edit, or the write that makes it. A blind edit is sent without a read. If
// it is refused, the refusal brings the order.
func (p *edition) decide(s *sight) decision {
	if s.fresh {
		if d := p.judge(s.order); d.refuses() {
			return d
		}
	} else if p.refusal.refuses() || s.order == nil && !p.change.blind() {
		return decision{look: p.orders.look}
	}

	d := p.draft(s)
	verdict, reason, err := p.plan(s.order, d)

	switch {
	case verdict == 0 && err == nil:
		return decision{write: &write{update: d.Input(), into: processedEvents}}
	case !s.fresh:
		return decision{look: p.orders.look}
	}

	return decision{result: Result{Verdict: verdict, Order: s.order, Reason: reason}, err: err}
}

// plan adds the change and the own attributes of the edit to the draft.
func (p *edition) plan(order *Order, d draft) (refusal Verdict, reason string, err error) {
	refusal, reason, err = p.change.plan(order, d)
	if refusal != 0 || err != nil || p.edit.Own.IsZero() {
		return refusal, reason, err
	}

	return p.edit.Own.plan(p.orders.cfg.Mapping, order, d)
}

// contentOf returns the digest that must be equal when an edit is sent again.
func (e Edit) contentOf(kind editKind, c change) digest {
	content := c.content()
	parts := []string{string(kind), string(content[:])}

	switch own := e.Own.digest(); {
	case own != digest{}:
		parts = append(parts, e.With, string(own[:]))
	case e.With != "":
		parts = append(parts, e.With)
	}

	return digestOf(parts...)
}

// draft begins the write of the edit.
func (p *edition) draft(s *sight) draft {
	return p.orders.draft(editWrite{edit: p.edit, content: p.content, call: p.call, at: s.now}, s.order)
}

// judge finds the answer that the order's image alone gives to the edit. The decision is empty if the
// edit may still be applied.
func (p *edition) judge(order *Order) decision {
	switch {
	// There is no order that could show that the edit was applied.
	case order == nil && p.refusal.refuses():
		return p.refusal
	case order == nil:
		return decision{result: Result{Verdict: NotFound}}
	}

	if d := order.inOtherLife(p.edit.Incarnation); d.refuses() {
		return d
	}

	// This is checked before the state and the definition: a repeated edit is Replayed even after payment.
	if done, found := order.evidenceOfEdit(p.edit.EventID.digest()); found {
		result := Result{Verdict: Replayed, ContentVersion: done.version, Order: order}
		switch {
		case done.call == p.call:
			result.Verdict = Applied // this call made the write, even if its answer was lost
		case done.content != p.content:
			result = Result{Verdict: Conflict, Order: order, Reason: "the event id was used for another edit"}
		}

		return decision{result: result}
	}

	if err := p.orders.CheckVersion(order); err != nil {
		return decision{err: err}
	}

	if p.refusal.refuses() {
		return p.refusal.of(order)
	}

	switch seen := p.edit.IfMatch; {
	case order.renewedSince(p.edit.Incarnation):
		return decision{result: Result{Verdict: Superseded, Order: order}}
	case !slices.Contains(p.orders.def.Editable(), order.State):
		return decision{result: Result{Verdict: WrongState, Order: order, Expected: p.orders.Editable()}}
	case seen != nil && order.ContentVersion > *seen:
		return decision{result: Result{Verdict: Superseded, Order: order}}
	case seen != nil && order.ContentVersion < *seen:
		return decision{result: Result{Verdict: Conflict, Order: order, Reason: "ifMatch names a content version that the order has not reached"}}
	}

	return decision{}
}
