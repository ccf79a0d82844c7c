package transitions

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/txn"
	"ratchet/workflow"
)

// EditRefused is the refusal of an edit that was part of a transaction. Nothing of the
// transaction was written.
type EditRefused struct {
	// Result is what the edit alone would have been answered. Its verdict is 0 when
	// the order has to make room first: the same edit with Edit.Seen set to
	// Result.Order does.
	Result EditResult
}

func (e *EditRefused) Error() string {
	switch {
	case e.Result.Verdict == 0:
		return "edit refused: the order's memory of edits is full"
	case e.Result.Reason != "":
		return fmt.Sprintf("edit refused: %s: %s", e.Result.Verdict, e.Result.Reason)
	}

	return "edit refused: " + e.Result.Verdict.String()
}

// AddItemsIn is AddItems as one part of a transaction that the caller writes, for lines
// that only count together with something else, like their reservation. It reads and
// sends nothing; what it returns adds the part. When the order refuses it, the
// transaction's error is an [*EditRefused] or an [ErrOrderFull]. The order remembers
// the edit as it remembers any.
func (o *Orders) AddItemsIn(e Edit, lines ...Item) (func(*txn.Transaction), error) {
	c := &addItems{lines}
	err := e.validate()
	if err == nil {
		err = c.validate()
	}

	if err == nil && len(o.editable) == 0 {
		err = &EditRefused{EditResult{Verdict: Illegal}}
	}

	w := editWrite{edit: e, content: contentOf(editAddItems, c), call: newCallID(), at: o.cfg.Now()}
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

func (o *Orders) planPart(w editWrite, c change, base *Order) (draft, error) {
	d := o.draft(w, base)
	verdict, reason, err := c.plan(base, d)
	if err == nil && verdict != 0 {
		err = &EditRefused{EditResult{Verdict: verdict, Order: base, Reason: reason}}
	}

	return d, err
}

// partRefused judges the order's image that refused the edit.
func (o *Orders) partRefused(w editWrite, c change, old image) error {
	if len(old) == 0 {
		return &EditRefused{EditResult{Verdict: NotFound}}
	}

	order, err := decode(old)
	if err != nil {
		return err
	}

	if result, decided := o.judgeEdit(w, order); decided {
		return &EditRefused{result}
	}

	if err := o.CheckVersion(order); err != nil {
		return err
	}

	if _, err := o.planPart(w, c, order); err != nil {
		return err
	}

	return &EditRefused{EditResult{Order: order}}
}
