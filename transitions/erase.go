package transitions

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// erasedAtAttribute is when the person was erased from the order, for the first time.
const erasedAtAttribute = "erasedAt"

// personal are the attributes of an order that EraseIn removes. They may tell whose order it is; from
// the digest of the content, an address could be guessed. PlacedBy stays: it names a program, and keeps
// another execution from placing the order.
var personal = []string{
	customerAttribute,
	referenceAttribute,
	metadataAttribute,
	addressAttribute(shippingAddress),
	addressAttribute(billingAddress),
	"notes",
	"placeHash",
	causeAttribute,
	editCauseAttribute,
}

// CanErase returns nil if the person may be erased from the order. Otherwise it returns why not:
// ErrNotEnded if an event can still leave the order's state, ErrUnknownVersion if its version is not known.
func (o *Orders) CanErase(order *Order) error {
	if err := o.CheckVersion(order); err != nil {
		return err
	}

	if !o.def.Terminal(order.State) {
		return fmt.Errorf("%w: it is %s", ErrNotEnded, order.State)
	}

	return nil
}

// EraseIn returns a function that adds one update to a transaction. The update removes everything
// from the order that may tell whose order it is. State, ring, lines and total stay, and so does the
// transitionId: the update is no transition, and no reader of the stream takes it for one. The order
// no longer remembers its edits and the digest of its content, so placing it again is a Conflict. A
// repeat changes nothing.
//
// The update has the order as it was read as its condition. If the order has moved since, the
// transaction is refused with [ErrContended]. EraseIn fails with the errors of [Orders.CanErase].
func (o *Orders) EraseIn(order *Order) (func(*txn.Transaction), error) {
	if err := o.CanErase(order); err != nil {
		return nil, fmt.Errorf("erase the person of order %s: %w", order.ID, err)
	}

	// The memory of edits goes, too: an address could be guessed from the digest of its edit.
	update := dynamo.NewUpdate(o.cfg.Table, orderKey(order.ID)).
		Set(erasedAtAttribute+" = if_not_exists("+erasedAtAttribute+", :now)").
		Bind(":now", dynamo.Millis(o.clock.Now())).
		SetValue(processedEvents, dynamo.M(image{}))

	ifUnchanged(update, order)

	for _, name := range personal {
		update.RemoveAttribute(name)
	}
	o.cfg.Mapping.eraseOwn(update, order)

	part := types.TransactWriteItem{Update: update.Part()}
	// So many own attributes do not fit into one update, and no other write may come between two.
	if len(*part.Update.UpdateExpression) > maxExpression {
		part = types.TransactWriteItem{Put: o.erased(order)}
	}
	part = o.cfg.Mapping.part(part)

	return func(t *txn.Transaction) { t.AddDecisive(orderPart, part, txn.FailWith(ErrContended)) }, nil
}

// erased replaces the whole item of the order, as it was read, by one without the person.
func (o *Orders) erased(order *Order) *types.Put {
	item := o.cfg.Mapping.item(order.item)
	item = o.cfg.Mapping.WithoutPerson(item)

	img, _ := o.cfg.Mapping.image(item, order.ID)
	if img[erasedAtAttribute] == nil {
		img[erasedAtAttribute] = dynamo.Millis(o.clock.Now())
	}
	img[processedEvents] = dynamo.M(image{})

	values := image{}
	condition := pinned(order, values)

	return &types.Put{TableName: &o.cfg.Table, Item: img, ConditionExpression: &condition, ExpressionAttributeValues: values}
}

// EraseHistory removes from the order's journal who asked for each transition, and the texts and
// traces of their causes; codes and sources stay. It returns how many rows it has changed. It fails
// with [ErrJournalBehind] if the journal lacks a row up to the order's transition: the row that
// comes later would bring the person back. A repeat changes nothing.
func (o *Orders) EraseHistory(ctx context.Context, order *Order) (changed int, err error) {
	if changed, err = o.eraseHistory(ctx, order); err != nil {
		err = fmt.Errorf("erase the person of the journal of order %s: %w", order.ID, err)
	}

	return changed, err
}

func (o *Orders) eraseHistory(ctx context.Context, order *Order) (changed int, err error) {
	last := TransitionID(0)

	for row, err := range o.Rows(ctx, order, 0) {
		switch {
		case err != nil:
			return changed, err
		case !row.Follows(last):
			return changed, ErrJournalBehind
		}
		last = row.ID

		kept := row.Cause.WithoutPerson()
		// The row has nothing personal, or an earlier call has erased it: no write is needed.
		if row.Cause == kept && row.Own.IsZero() && !guessable(row.own) {
			continue
		}

		// The row of the request comes first: the row of the journal tells that there may be one.
		if err := o.eraseRequest(ctx, order.life(), row); err != nil {
			return changed, err
		}

		if err := o.eraseRow(ctx, order.ID, row, kept); err != nil {
			return changed, err
		}
		changed++
	}

	if last < order.TransitionID {
		return changed, ErrJournalBehind
	}

	return changed, nil
}

// eraseRow replaces the cause of a row that exists, and removes own attributes. The cause's code stays in an
// attribute of its own.
func (o *Orders) eraseRow(ctx context.Context, id OrderID, row Row, c Cause) error {
	update := dynamo.NewUpdate(o.cfg.JournalTable, rowKey(id, row.life, row.ID)).
		IfPresent("orderId").
		SetValue(rowDetails, dynamo.S(c.details(id))).
		RemoveAttribute(rowSet).
		RemoveAttribute(rowRemoved)
	if guessable(row.own) {
		update.SetValue(rowOwnDigest, erasedOwn.value())
	}

	input := update.Input()

	// The row replaces its own cause, so a repeat changes nothing.
	gone, err := o.beside(ctx, func() error {
		_, err := o.cfg.DynamoDB.UpdateItem(ctx, input)
		return err
	})
	if gone {
		return ErrJournalBehind
	}

	return err
}

// eraseRequest replaces the digest of own attributes in the row of the request that made the transition, if there
// is one. It has the life in which the transition has left the ring.
func (o *Orders) eraseRequest(ctx context.Context, l life, row Row) error {
	if !guessable(row.own) || !row.Named() || !o.keepsRequests() {
		return nil
	}

	for _, s := range l.spans() {
		key := image{"orderId": dynamo.S(string(l.id)), "req": requestKey(s.incarnation, row.request).value()}
		input := dynamo.NewUpdate(o.cfg.RequestsTable, key).
			IfPresent("orderId").
			SetValue(rowOwnDigest, erasedOwn.value()).
			Input()

		_, err := o.beside(ctx, func() error {
			_, err := o.cfg.DynamoDB.UpdateItem(ctx, input)
			return err
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// erasedOwn stands for the digest of own attributes in what was erased: from the digest, a value could be guessed.
// A repeat of the request is found by all else that it has.
var erasedOwn = digest(bytes.Repeat([]byte{0xff}, len(digest{})))

// guessable reports whether an own value could be guessed from the digest.
func guessable(own digest) bool { return own != digest{} && own != erasedOwn }

// kept reports whether an erasure leaves the attribute of the caller's own.
func (m Mapping) kept(name string) bool { return slices.Contains(m.Keep, name) }

// eraseOwn removes the order's own attributes, and their digests in its ring.
func (m Mapping) eraseOwn(update *dynamo.Update, order *Order) {
	var remove OwnChange
	for _, name := range slices.Sorted(maps.Keys(order.Own)) {
		if !m.kept(name) {
			remove.Remove = append(remove.Remove, name)
		}
	}

	c := remove.clauses(m)
	for placeholder, name := range c.names {
		update.Alias(placeholder, name)
	}

	for _, path := range c.remove {
		update.Remove(path)
	}

	for k, t := range order.ring {
		if guessable(t.own) {
			t.own = erasedOwn
			update.Set("#recent.#" + ringNames.slot[k] + " = " + update.Value(t.slot()))
		}
	}
}

// WithoutPerson returns an image of an order, as a stream record has it, without everything that
// EraseIn removes.
func (m Mapping) WithoutPerson(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	if item == nil {
		return nil
	}

	kept := maps.Clone(item)
	for _, field := range personal {
		delete(kept, m.attribute(field))
	}

	for name := range kept {
		if m.isOwn(name) && !m.kept(name) {
			delete(kept, name)
		}
	}

	if ring, ok := kept[m.attribute(recentAttribute)].(*types.AttributeValueMemberM); ok {
		kept[m.attribute(recentAttribute)] = dynamo.M(ringWithoutOwn(ring.Value))
	}

	// EraseIn empties this map and does not remove it.
	if edits := m.attribute(processedEvents); kept[edits] != nil {
		kept[edits] = dynamo.M(image{})
	}

	return kept
}

// ringWithoutOwn returns the members of a ring without digests of own attributes.
func ringWithoutOwn(recent image) image {
	without := maps.Clone(recent)
	for _, name := range ringNames.slot {
		if t, err := parseSlot(dynamo.Text(recent, name)); err == nil && guessable(t.own) {
			t.own = erasedOwn
			without[name] = t.slot()
		}
	}

	return without
}
