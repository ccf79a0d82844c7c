package transitions

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/txn"
	"ratchet/workflow"
)

// EditRefusedError is the error of a transaction whose edit the order refused. Nothing of the
// transaction was written.
type EditRefusedError struct {
	// Result is the answer that the edit would have had without the transaction. Its verdict
	// is 0 if the edit can be planned only if the order is known: its memory of edits is full,
	// or the order would have more lines than it may have SKUs. Then set Edit.Seen to
	// Result.Order and write the transaction again.
	Result EditResult
}

func (e *EditRefusedError) Error() string {
	switch {
	case e.Result.Verdict == 0:
		return "edit refused: write it again with the order as it is (Edit.Seen)"
	case e.Result.Reason != "":
		return fmt.Sprintf("edit refused: %s: %s", e.Result.Verdict, e.Result.Reason)
	}

	return "edit refused: " + e.Result.Verdict.String()
}

// AddItemsIn is AddItems as one part of a transaction that the caller writes, for lines
// that must be added together with something else, like their reservation. It sends
// nothing; the function that it returns adds the part to a transaction. AddItemsIn fails
// with ErrInvalidRequest for an invalid edit, and with an [*EditRefusedError] or
// [ErrOrderFull] if Edit.Seen or the definition rules the edit out. If the order refuses
// the edit, the transaction fails with one of these two errors. The order remembers the
// edit like any other.
func (o *Orders) AddItemsIn(e Edit, lines ...Item) (func(*txn.Transaction), error) {
	c := &addItems{lines}
	err := o.validateEdit(e, c)

	if err == nil && len(o.editable) == 0 {
		err = &EditRefusedError{EditResult{Verdict: Illegal}}
	}

	w := editWrite{edit: e, content: contentOf(editAddItems, c, e.With), call: newCallID(), at: o.cfg.Now()}
	var d draft
	if err == nil {
		d, err = o.planPart(w, c, e.Seen)
	}

	if err != nil {
		return nil, &Error{Order: e.OrderID, Event: workflow.Event(editAddItems), Err: err}
	}
	part := types.TransactWriteItem{Update: d.Part()}
	refusal := func(old image) error {
		return &Error{Order: e.OrderID, Event: workflow.Event(editAddItems), Err: o.partRefused(w, c, old)}
	}

	return func(t *txn.Transaction) { t.Add("order", part, refusal) }, nil
}

// planPart plans the edit on the order, nil if it is not known. A refusal is an
// EditRefusedError.
func (o *Orders) planPart(w editWrite, c change, base *Order) (draft, error) {
	d := o.draft(w, base)
	verdict, reason, err := c.plan(base, d)
	if err == nil && verdict != 0 {
		err = &EditRefusedError{EditResult{Verdict: verdict, Order: base, Reason: reason}}
	}

	return d, err
}

// partRefused returns the error of an edit whose condition failed on this image.
func (o *Orders) partRefused(w editWrite, c change, old image) error {
	if len(old) == 0 {
		return &EditRefusedError{EditResult{Verdict: NotFound}}
	}

	order, err := decode(old)
	if err != nil {
		return err
	}

	if result, decided := o.judgeEdit(w, order); decided {
		return &EditRefusedError{result}
	}

	if err := o.CheckVersion(order); err != nil {
		return err
	}

	// The edit is planned once more only to find the refusal, such as a full order.
	if _, err := o.planPart(w, c, order); err != nil {
		return err
	}

	// The edit itself is allowed, but it was planned without the order as it is.
	return &EditRefusedError{EditResult{Order: order}}
}
