package transitions

import (
	"context"
	"errors"
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
	// Seen is the order as the caller read it or as an earlier edit returned it. With it,
	// ChangeItem and RemoveItem need no read. An outdated order costs one more write but
	// never changes the answer. Optional.
	Seen *Order `json:"-"`
	// With names the other changes in the transaction of AddItemsIn, such as "stock". It is
	// part of the content: the same lines with another With are another edit. Optional.
	With string `json:"-"`
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
)

// EditResult is the answer to an edit. Its verdicts are Applied, Replayed, Superseded and
// Conflict as for a transition, WrongState (the order's state or total does not allow
// this edit), NotFound (there is no such order, or no such line) and Illegal (the
// definition has no state in which orders can be edited).
type EditResult struct {
	Verdict Verdict `json:"verdict"`
	// ContentVersion is the version that this edit made, if the verdict is Applied or
	// Replayed.
	ContentVersion int64 `json:"contentVersion,omitempty"`
	// Order is the order as it is now; nil if there is none.
	Order *Order `json:"order,omitempty"`
	// Expected lists the states in which the order could have been edited, if it is in
	// another one.
	Expected []workflow.State `json:"expected,omitempty"`
	// Reason says in words why the edit was refused although the order is in the right
	// state.
	Reason string `json:"reason,omitempty"`
}

// editable lists the states in which content may be edited: the states before the payment,
// when nothing has been charged, packed or sent.
var editable = []workflow.State{workflow.Pending, workflow.OnHold}

// Editable returns the states of the definition in which an order's content may be
// edited: PENDING and ON_HOLD, if the definition has them.
func (o *Orders) Editable() []workflow.State { return slices.Clone(o.editable) }

func editableIn(d *workflow.Definition) []workflow.State {
	return slices.DeleteFunc(slices.Clone(editable), func(s workflow.State) bool { return !d.HasState(s) })
}

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
func (o *Orders) AddItems(ctx context.Context, e Edit, lines ...Item) (EditResult, error) {
	return o.edit(ctx, e, editAddItems, &addItems{lines})
}

// ChangeItem sets the quantity and price of the first line with the SKU and changes the
// total by the difference. It is NotFound if the order has no such line. One read (none
// with Edit.Seen), one write.
func (o *Orders) ChangeItem(ctx context.Context, e Edit, line Item) (EditResult, error) {
	return o.edit(ctx, e, editChangeItem, &changeItem{line})
}

// RemoveItem removes every line with the SKU, at most 20, and subtracts their cost from the
// total. It is NotFound if the order has no such line, and WrongState if the total would be
// negative. One read (none with Edit.Seen), one write.
func (o *Orders) RemoveItem(ctx context.Context, e Edit, sku string) (EditResult, error) {
	return o.edit(ctx, e, editRemoveItem, &removeItem{sku})
}

// SetAddress replaces the address of the kind, "shipping" or "billing". One write, no read.
func (o *Orders) SetAddress(ctx context.Context, e Edit, kind string, address Address) (EditResult, error) {
	return o.edit(ctx, e, editSetAddress, &setAddress{kind, address})
}

// AddNote appends a note and sets its time to now. It fails with ErrOrderFull if the
// order has 100 notes already. One write, no read.
func (o *Orders) AddNote(ctx context.Context, e Edit, note Note) (EditResult, error) {
	note.At = o.cfg.Now()
	return o.edit(ctx, e, editAddNote, &addNote{note})
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

// validateEdit returns an ErrInvalidRequest that names what is wrong with the edit.
func (o *Orders) validateEdit(e Edit, c change) error {
	if err := e.validate(); err != nil {
		return err
	}

	if err := c.validate(); err != nil {
		return err
	}

	return o.checkEdit(c)
}

// edit validates and applies one edit, and reports it.
func (o *Orders) edit(ctx context.Context, e Edit, kind editKind, c change) (EditResult, error) {
	err := o.validateEdit(e, c)

	var result EditResult
	ctx, meter := o.metered(ctx)
	if err == nil {
		result, err = o.applyEdit(ctx, e, kind, c)
	}

	if err != nil {
		return EditResult{}, &Error{Order: e.OrderID, Event: workflow.Event(kind), Err: err}
	}
	o.reportConsumed(meter, e.OrderID, result.Verdict)
	o.reportRefusal(workflow.Event(kind), e.Cause.Source, result.Order, result.Verdict, result.Expected, result.Reason)
	o.cfg.Log.DebugContext(ctx, "edit", "order", e.OrderID, "kind", kind, "edit", e.EventID, "verdict", result.Verdict)

	return result, nil
}

// applyEdit sends the edit until it is decided. If the condition fails, DynamoDB returns
// the order's image. The image decides the edit, or the next attempt is planned on it.
// After [Config].Attempts attempts the error is ErrContended.
func (o *Orders) applyEdit(ctx context.Context, e Edit, kind editKind, c change) (EditResult, error) {
	if len(o.editable) == 0 {
		return EditResult{Verdict: Illegal}, nil
	}

	w := editWrite{edit: e, content: contentOf(kind, c, e.With), call: newCallID(), at: o.cfg.Now()}
	// The order of the caller may be outdated: it may plan a write, but not decide the answer.
	base, fresh := e.Seen, false // fresh: base comes from the table, not from the caller
	if base != nil {
		// If the edit was made already, the answer needs the order as it is now.
		if _, made := base.evidenceOfEdit(e.EventID.digest()); made {
			base = nil
		}
	}

	// A blind edit is sent without a read. If it is refused, the refusal brings the order.
	if base == nil && !c.blind() {
		read, found, err := o.Get(ctx, e.OrderID)
		if err != nil || !found {
			return EditResult{Verdict: NotFound}, err
		}
		base, fresh = read, true
	}

	for range o.cfg.Attempts {
		if fresh {
			if result, decided := o.judgeEdit(w, base); decided {
				return result, nil
			}

			if err := o.CheckVersion(base); err != nil {
				return EditResult{}, err
			}
		}

		d := o.draft(w, base)
		verdict, reason, err := c.plan(base, d)
		if verdict != 0 || err != nil {
			if fresh {
				return EditResult{Verdict: verdict, Order: base, Reason: reason}, err
			}
			// An order from the caller may be outdated, so it cannot refuse the edit.
			read, found, err := o.Get(ctx, e.OrderID)
			if err != nil || !found {
				return EditResult{Verdict: NotFound}, err
			}
			base, fresh = read, true
			continue
		}

		newImage, oldImage, err := o.update(ctx, d.Input(), processedEvents)
		switch {
		// Our bounds keep an order far below the limit, so other programs have added attributes to
		// this one.
		case itemTooLarge(err):
			return EditResult{}, errors.Join(&LimitError{What: "item bytes", Limit: maxItemBytes}, err)
		case err != nil:
			return EditResult{}, err
		case newImage != nil:
			return editApplied(newImage)
		case len(oldImage) == 0:
			return EditResult{Verdict: NotFound}, nil
		}

		// The image of a failed condition is as good as a consistent read.
		if base, err = decode(oldImage); err != nil {
			return EditResult{}, err
		}
		fresh = true
	}

	return EditResult{}, ErrContended
}

// contentOf returns the digest that must be equal when an edit is sent again.
func contentOf(kind editKind, c change, with string) digest {
	content := c.content()
	if with != "" {
		return digestOf(string(kind), string(content[:]), with)
	}

	return digestOf(string(kind), string(content[:]))
}

// judgeEdit finds the answer that the order's image alone gives to the edit. It returns
// false if the edit may still be applied.
func (o *Orders) judgeEdit(w editWrite, order *Order) (EditResult, bool) {
	// This is checked before the state: a repeated edit is Replayed even after payment.
	if done, found := order.evidenceOfEdit(w.edit.EventID.digest()); found {
		result := EditResult{Verdict: Replayed, ContentVersion: done.version, Order: order}
		switch {
		case done.call == w.call:
			result.Verdict = Applied // this call made the write, and its answer was lost
		case done.content != w.content:
			result = EditResult{Verdict: Conflict, Order: order, Reason: "the event id was used for another edit"}
		}

		return result, true
	}

	switch seen := w.edit.IfMatch; {
	case !slices.Contains(o.editable, order.State):
		return EditResult{Verdict: WrongState, Order: order, Expected: o.Editable()}, true
	case seen != nil && order.ContentVersion > *seen:
		return EditResult{Verdict: Superseded, Order: order}, true
	case seen != nil && order.ContentVersion < *seen:
		return EditResult{Verdict: Conflict, Order: order, Reason: "ifMatch names a content version that the order has not reached"}, true
	}

	return EditResult{}, false
}

// editApplied returns the result of an edit whose write left this image.
func editApplied(img image) (EditResult, error) {
	order, err := decode(img)
	if err != nil {
		return EditResult{}, err
	}

	return EditResult{Verdict: Applied, ContentVersion: order.ContentVersion, Order: order}, nil
}
