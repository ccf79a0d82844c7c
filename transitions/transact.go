package transitions

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/txn"
)

// inTransaction makes w the transaction of the step, of its row of the journal if that is transactional, and of
// what the caller adds. base is the order as it was read.
func (o *Orders) inTransaction(w *write, t *step, base *Order) error {
	u, err := o.render(t, base)
	if err != nil {
		return err
	}

	// A transaction returns no new image. The write is pinned to base, so its result is known.
	w.after = base.after(t, o.def.Version())
	if o.keepsRequests() {
		// As the update sets it (see newUpdates).
		w.after.requestsAt = w.after.TransitionID
	}
	made, _ := w.after.slot(t.transition.ID)

	// UpdateItem names a missing map in its error. A transaction says only that it is invalid, so the map
	// is made before. What is no map is another program's.
	if w.lacking = !base.ringed; w.lacking && base.item[recentAttribute] != nil {
		return base.Readable(recentAttribute)
	}

	w.parts = &txn.Transaction{}
	w.parts.Marker(orderPart, o.cfg.Mapping.part(types.TransactWriteItem{Update: &u}))

	if o.cfg.Journal == JournalTransactional {
		o.addRow(w.parts, o.journalRow(w.after, made, base))
	}

	for _, add := range t.with {
		add(w.parts, made)
	}

	return nil
}

// orderPart names the order in a transaction. The order is the marker: its ring tells whether the
// transition was made before. The order answers first: the journal has a row for every applied
// transition, so a row alone does not prove which request applied its transition. While the order
// is in conflict with another transaction, the row proves nothing.
const orderPart = "order"

// addRow adds a row of the journal to the transaction.
func (o *Orders) addRow(t *txn.Transaction, row image) {
	// This condition decides only if the order accepts the write: a row that exists then belongs to
	// another past.
	t.Add("journal row", types.TransactWriteItem{Put: &types.Put{
		TableName:           &o.cfg.JournalTable,
		Item:                row,
		ConditionExpression: &absent,
	}}, txn.FailWith(ErrJournalAhead))
}

// after returns the order as the write leaves it. The write was pinned to o.
func (o *Order) after(w *step, version int) *Order {
	t := w.transition
	t.From = o.State
	t.At = time.UnixMilli(t.At.UnixMilli()).UTC() // as it is read back
	if w.foreign.cause {
		t.Cause = t.Cause.brief() // the attribute of the details is another program's
	}

	after := *o

	after.item = nil
	after.PreviousState, after.State, after.TransitionID = o.State, t.To, t.ID
	after.DefinitionVersion, after.UpdatedAt = version, t.At
	if (t.To != o.State || w.restart) && !w.foreign.entered {
		after.enteredAt = t.At
	}
	after.ring[o.TransitionID%ringSize].Cause = o.Cause.brief() // the item has the details of the newest only
	after.ring[t.ID%ringSize], after.ringed = t, true
	after.Cause = t.Cause
	after.Own = w.request.Own.applied(o.Own)
	after.requestsAfter = max(o.requestsAfter, w.requestsAfter)

	if w.parcel != nil {
		w.parcel.apply(&after)
	}

	return &after
}
