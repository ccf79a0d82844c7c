package transitions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/txn"
)

// maxTransactionAttempts is the most that txn allows.
const maxTransactionAttempts = 100

// transact sends the write, rendered as u, with its journal row until DynamoDB has decided. base is
// the order as it was read. It returns the order after the move, or the order that refused the move
// (nil: there is none).
func (o *Orders) transact(ctx context.Context, w *write, u *types.Update, base *Order) (moved, old *Order, err error) {
	// A transaction returns no new image. The write is pinned to base, so its result is known.
	after := base.after(w, o.def.Version())
	if o.keepsRequests() {
		// As the update sets it (see newUpdates).
		after.requestsAt = after.TransitionID
	}
	t, _ := after.slot(w.transition.ID)

	var parts txn.Transaction
	parts.Marker(orderPart, types.TransactWriteItem{Update: u})
	o.addRow(&parts, journalRow(base.life(), t, base, o.def.Version()))

	img, refused, err := o.writeTransaction(ctx, &parts)
	switch {
	case err != nil:
		return nil, nil, err
	case !refused:
		return after, nil, nil
	}
	old, err = decodeIfAny(img)

	return nil, old, err
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

// writeTransaction sends the transaction, whose marker is an order. It reports whether the
// order refused the transaction, and returns the item of the order then.
func (o *Orders) writeTransaction(ctx context.Context, t *txn.Transaction) (old image, refused bool, err error) {
	err = o.transactions.Write(ctx, t)

	var refusal *txn.CanceledError
	switch {
	case errors.As(err, &refusal) && refusal.Marker:
		return refusal.Old, true, nil
	case errors.Is(err, txn.ErrContended):
		return nil, false, fmt.Errorf("%w: %w", ErrContended, err) // nothing was written
	case txn.Retryable(err):
		return nil, false, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}

	return nil, false, err
}

// after returns the order as the write leaves it. The write was pinned to o.
func (o *Order) after(w *write, version int) *Order {
	t := w.transition
	t.From = o.State
	t.At = time.UnixMilli(t.At.UnixMilli()).UTC() // as it is read back

	after := *o
	after.item = nil
	after.PreviousState, after.State, after.TransitionID = o.State, t.To, t.ID
	after.DefinitionVersion, after.UpdatedAt = version, t.At
	after.ring[o.TransitionID%ringSize].Cause = o.Cause.brief() // the item has the details of the newest only
	after.ring[t.ID%ringSize], after.ringed = t, true
	after.Cause = t.Cause
	after.requestsAfter = max(o.requestsAfter, w.requestsAfter)

	if w.parcel != nil {
		w.parcel.apply(&after)
	}

	return &after
}
