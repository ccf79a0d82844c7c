package transitions

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/workflow"
)

// Import is an order under way, to be brought here in its present state.
type Import struct {
	NewOrder
	// State is where the order is. The definition must have it.
	State workflow.State `json:"state"`
	// CreatedAt is when the order was placed, EnteredAt when it came to its state. Default: now. Neither is part
	// of the content.
	CreatedAt time.Time `json:"createdAt,omitzero"`
	EnteredAt time.Time `json:"enteredAt,omitzero"`
}

// Validate returns an ErrInvalidRequest that names the first field that breaks a rule.
func (i Import) Validate() error {
	if err := i.NewOrder.Validate(); err != nil {
		return err
	}

	for name, at := range map[string]time.Time{"createdAt": i.CreatedAt, "enteredAt": i.EnteredAt} {
		if !at.IsZero() && at.UnixMilli() <= 0 {
			return fmt.Errorf("%w: %s %s: after 1970", ErrInvalidRequest, name, at.Format(time.RFC3339))
		}
	}

	return nil
}

// ValidateFor is Validate, and also compares the state and the parts of the order with the definition.
func (i Import) ValidateFor(d *workflow.Definition) error {
	if err := i.Validate(); err != nil {
		return err
	}

	if err := knownState(d, i.State); err != nil {
		return err
	}

	return i.fits(d)
}

func knownState(d *workflow.Definition, s workflow.State) error {
	if !d.HasState(s) {
		return fmt.Errorf("%w: state %q: the definition %s has no such state", ErrInvalidRequest, clip(string(s)), d.Name())
	}

	return nil
}

// content returns the digest that must be equal when the order is imported again. It differs from that of the
// order's placing: a repeated placing of an order that was imported is a Conflict.
func (i Import) content() digest {
	content := i.NewOrder.content()

	return digestOf("imported", string(i.State), string(content[:]))
}

// Import brings an order here in its present state: one conditional write with the first transitionId, whose event
// is [workflow.Imported]. The stream's reactions do nothing about it; journal and lists follow. The verdict is
// Applied for the call that imported it, Replayed for every later call with the same content and state, whatever
// has become of the order here since, and Conflict for another one: the reason names the difference.
//
// An item that the table has without any transition, because another program has made it, keeps its content and
// its attributes: the write is conditional on the state in it, which must be that of the import, and that it has made
// no transition.
func (o *Orders) Import(ctx context.Context, i Import) (Result, error) {
	ctx, meter := o.metered(ctx)

	result, err := o.imports(ctx, i)
	if err != nil {
		return Result{}, &Error{Order: i.ID, Event: workflow.Imported, Err: err}
	}
	o.report(ctx, meter, Request{OrderID: i.ID, Event: workflow.Imported, TransitionID: placeID, Cause: i.Cause}, result)

	return result, nil
}

func (o *Orders) imports(ctx context.Context, i Import) (Result, error) {
	if err := o.checkImport(i); err != nil {
		return Result{}, err
	}

	// Every attempt begins the same life.
	if i.Incarnation == "" {
		var err error
		if i.Incarnation, err = o.NewIncarnation(ctx); err != nil {
			return Result{}, err
		}
	}

	return o.run(ctx, &importing{orders: o, order: i, refusal: i.fits(o.def), call: newCallID()}, sight{id: i.ID})
}

// checkImport returns an ErrInvalidRequest for an import that no order can be.
func (o *Orders) checkImport(i Import) error {
	if err := i.Validate(); err != nil {
		return err
	}

	if f := (OwnChange{Set: i.Own}).fault(o.cfg.Mapping); f != nil {
		return i.ownFault(f)
	}

	return knownState(o.def, i.State)
}

// importing is the plan of an import.
type importing struct {
	orders  *Orders
	order   Import
	refusal error // the definition does not allow the content
	call    string
}

func (p *importing) decide(s *sight) decision {
	switch {
	case s.order == nil && p.refusal == nil:
		return p.orders.placeImported(p, s)
	case !s.fresh:
		return decision{look: p.orders.look}
	case s.order == nil:
		return decision{err: p.refusal}
	}

	d := p.judge(s.order)
	if d.refuses() {
		return d
	}

	t := Transition{ID: placeID, Event: workflow.Imported, To: p.order.State, At: s.now, Cause: p.order.Cause.fitted(), call: p.call}
	placed := p.order.content()

	return p.orders.bringIn(s.order, t, &placed, p.order.EnteredAt)
}

// judge finds the answer that the order that is here gives. The decision is empty if it has only a state.
func (p *importing) judge(order *Order) decision {
	if err := order.Readable("placeHash", recentAttribute); err != nil {
		return decision{err: err}
	}

	t, held := order.slot(placeID)
	if !held {
		t = Transition{ID: placeID, Event: workflow.Imported, To: p.order.State, At: order.CreatedAt}
	}

	left, moved := order.MovedByOther()
	conflict := func(format string, args ...any) decision {
		return decision{result: Result{Verdict: Conflict, Order: order, Reason: fmt.Sprintf(format, args...)}}
	}

	switch here := order.TransitionID == 0; {
	case held && t.call == p.call:
		return decision{result: Result{Verdict: Applied, Transition: t, Order: order}} // this call has imported it
	case moved:
		return conflict("another program has moved the order from %s to %s since it came here", left, order.State)
	// The order was brought in with the state that its item had.
	case order.placed == p.order.content(), order.placed == digest{} && held && t.Event == workflow.Imported && t.To == p.order.State:
		return decision{result: Result{Verdict: Replayed, Transition: t, Order: order}}
	case here && order.State != p.order.State:
		return conflict("the table says that the order is %s, the import %s", order.State, p.order.State)
	case here:
		return decision{}
	case held && t.Event == workflow.Imported && t.To != p.order.State:
		return conflict("the order was imported as %s, not as %s", t.To, p.order.State)
	case held && t.Event == workflow.Imported:
		return conflict("the order was imported with other content")
	}

	return conflict("the order exists here and is %s since transition %d", order.State, order.TransitionID)
}

// placeImported plans the write of an order that the table does not have.
func (o *Orders) placeImported(p *importing, s *sight) decision {
	t := Transition{ID: placeID, Event: workflow.Imported, To: p.order.State, At: s.now, Cause: p.order.Cause.fitted(), call: p.call}

	item := o.newItem(p.order.NewOrder, t)
	item["orderState"] = dynamo.S(string(p.order.State))
	item["placeHash"] = p.order.content().value()

	for name, at := range map[string]time.Time{"createdAt": p.order.CreatedAt, enteredAtAttribute: p.order.EnteredAt} {
		if !at.IsZero() {
			item[name] = dynamo.Millis(at)
		}
	}

	return o.placeItem(item, nil)
}

// bringIn plans the write that gives an order the transition t, without moving it: to the state in which it is. The
// write is conditional on the order as it was read. placed is its digest of a repeated import, nil to have none. entered
// is when the order came to its state as far as the caller knows, zero if it does not.
func (o *Orders) bringIn(order *Order, t Transition, placed *digest, entered time.Time) decision {
	needed := []string{recentAttribute}
	if o.keepsRequests() {
		needed = append(needed, requestsAt, requestsAfter)
	}

	if err := order.Readable(needed...); err != nil {
		return decision{err: err}
	}

	// From is where its newest transition has led, so that the journal goes on without a gap.
	if newest, held := order.slot(order.TransitionID); held && order.TransitionID != 0 {
		t.From = newest.To
	}

	step := &step{request: Request{OrderID: order.ID}, transition: t, foreign: order.foreign()}
	w := &write{keep: o.keepRequest(step, order), into: recentAttribute}

	u := dynamo.NewUpdate(o.cfg.Table, orderKey(order.ID))
	ifUnchanged(u, order)
	u.SetValue("transitionId", dynamo.N(int64(t.ID)))
	o.setSlot(u, order, t)

	// An order that has made no transition here is in its state since it came there. When another program has moved
	// one that has, only the import is known.
	switch {
	case order.TransitionID != 0:
		entered = t.At
	case !order.enteredAt.IsZero():
		entered = order.enteredAt
	case entered.IsZero():
		entered = t.At
	}
	o.setMoments(u, order, step, entered)

	if placed != nil {
		u.IfAbsent("placeHash").SetValue("placeHash", placed.value())
	}

	if o.cfg.Journal == JournalByStream {
		w.update = u.Input()
		return decision{write: w}
	}

	w.after = order.after(step, o.def.Version())
	w.after.PreviousState = order.PreviousState
	if !step.foreign.entered {
		w.after.enteredAt = entered
	}

	made := &w.after.ring[t.ID%ringSize]
	made.From = t.From

	if t.From != "" {
		w.after.PreviousState = t.From
	}

	if placed != nil {
		w.after.placed = *placed
	}

	w.parts = &txn.Transaction{}
	w.parts.Marker(orderPart, o.cfg.Mapping.part(types.TransactWriteItem{Update: u.Part()}))
	o.addRow(w.parts, o.journalRow(w.after, *made, order))

	return decision{write: w}
}

// setSlot sets the transition's slot of the ring. An order that has made no transition has no ring yet.
func (o *Orders) setSlot(u *dynamo.Update, order *Order, t Transition) {
	slot := image{}
	t.addTo(slot)

	if !order.ringed {
		u.IfAbsent(recentAttribute).SetValue(recentAttribute, dynamo.M(slot))
		return
	}

	k := t.ID % ringSize
	for _, member := range []string{ringNames.slot[k], ringNames.from[k], ringNames.request[k], ringNames.code[k]} {
		path := u.Name(recentAttribute) + "." + u.Name(member)
		if value := slot[member]; value != nil {
			u.Set(path + " = " + u.Value(value))
		} else {
			u.Remove(path)
		}
	}
}

// setMoments sets the attributes that every transition sets, but for those that are another program's.
func (o *Orders) setMoments(u *dynamo.Update, order *Order, w *step, entered time.Time) {
	t, others := w.transition, w.foreign
	set := func(foreign bool, name string, value types.AttributeValue) {
		if !foreign {
			u.SetValue(name, value)
		}
	}
	set(others.version, versionAttribute, dynamo.N(int64(o.def.Version())))
	set(others.updated, updatedAtAttribute, dynamo.Millis(t.At))
	set(others.entered, enteredAtAttribute, dynamo.Millis(entered))
	set(others.previous || t.From == "", previousStateAttribute, dynamo.S(string(t.From)))

	switch {
	case others.cause:
	case t.Cause.hasDetails():
		u.SetValue(causeAttribute, t.causeValue(order.ID))
	default:
		u.RemoveAttribute(causeAttribute)
	}

	if o.keepsRequests() {
		u.SetValue(requestsAt, dynamo.N(int64(t.ID)))
	}

	if w.requestsAfter != 0 {
		u.SetValue(requestsAfter, dynamo.N(int64(w.requestsAfter)))
	}
}

// PreviewImport judges the import as Import would by what it reads now, and writes nothing. The verdict Applied means that
// the order as it was read would take it. It reads the order once.
func (o *Orders) PreviewImport(ctx context.Context, i Import) (Result, error) {
	result, err := o.previewImport(ctx, i)
	if err != nil {
		return Result{}, &Error{Order: i.ID, Event: workflow.Imported, Err: err}
	}

	return result, nil
}

func (o *Orders) previewImport(ctx context.Context, i Import) (Result, error) {
	if err := o.checkImport(i); err != nil {
		return Result{}, err
	}

	s := sight{id: i.ID, now: o.clock.Now()}
	if err := o.look(ctx, &s); err != nil {
		return Result{}, err
	}

	d := (&importing{orders: o, order: i, refusal: i.fits(o.def), call: newCallID()}).decide(&s)
	if d.write != nil {
		d.result = Result{Verdict: Applied, Transition: Transition{ID: placeID, Event: workflow.Imported, To: i.State}, Order: s.order}
	}

	return d.result, d.err
}
