package transitions

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/txn"
	"ratchet/workflow"
)

// EditRefusedError is the error of a transaction whose edit the order refused. Nothing of the
// transaction was written.
type EditRefusedError struct {
	// Result is the answer that the edit would have had without the transaction. Its verdict
	// is 0 if the edit can be planned only if the order is known: its memory of edits is full, the
	// order would have more lines than it may have SKUs, or Edit.Seen was outdated. Then set Edit.Seen
	// to Result.Order and write the transaction again.
	Result Result
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
// nothing; the function that it returns adds the part to a transaction. Without Edit.Seen, each attempt of
// the transaction costs half a read unit for 4 KB of the order. AddItemsIn fails
// with ErrInvalidRequest if the edit breaks a rule. If the order refuses the edit, the transaction
// fails with an [*EditRefusedError], or with the error that AddItems would have returned; if other programs have
// filled the order's item, with a [*txn.ItemSizeError]. The order
// remembers the edit like any other.
func (o *Orders) AddItemsIn(e Edit, lines ...Item) (func(*txn.Transaction), error) {
	c := &addItems{lines}
	failed := func(err error) error {
		return &Error{Order: e.OrderID, Event: workflow.Event(editAddItems), Err: err}
	}

	if err := o.validateEdit(e, c); err != nil {
		return nil, failed(err)
	}
	p := o.newEdit(e, editAddItems, c)
	part := p.part(sight{id: e.OrderID, now: o.clock.Now(), order: e.Seen})
	refusal := func(old image) error { return failed(p.refused(old)) }

	return func(t *txn.Transaction) {
		t.Add(orderPart, part, refusal)
		t.Explain(func(ctx context.Context, err error) error {
			if explained := o.withIndex(ctx, p, err); explained != err { //nolint:errorlint // whether it is another
				return failed(explained)
			}

			return nil
		})

		if e.Seen == nil {
			t.EachAttempt(func(ctx context.Context) error { return o.hasTraces(ctx, e.OrderID) })
		}
	}, nil
}

// hasTraces makes the map of traces for an order that lacks it. A transaction cannot make the map, and would
// say only that it is invalid.
func (o *Orders) hasTraces(ctx context.Context, id OrderID) error {
	// Not consistent: no order loses the map, and an order of this package has it from the beginning.
	out, err := o.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:            &o.cfg.Table,
		Key:                  orderKey(id),
		ProjectionExpression: aws.String("orderId, " + processedEvents),
	})
	if err != nil {
		return asUnavailable(ctx, err)
	}

	if len(out.Item) == 0 || out.Item[processedEvents] != nil {
		return nil
	}
	input := mapMaking(o.cfg.Table, id, processedEvents)

	_, err = o.beside(ctx, func() error {
		_, err := o.cfg.DynamoDB.UpdateItem(ctx, input)
		return err
	})

	return err
}

// part plans the edit as a part of a transaction.
func (p *edition) part(s sight) types.TransactWriteItem {
	d := p.draft(&s)
	verdict, _, err := p.plan(s.order, d)

	if err == nil && verdict == 0 && !p.refusal.refuses() {
		if s.order == nil {
			d.IfPresent(processedEvents) // see hasTraces
		}

		return p.orders.cfg.Mapping.part(types.TransactWriteItem{Update: d.Part()})
	}

	// Neither the definition nor an order that may be outdated decides: the edit may have been made
	// earlier. This condition always fails, so the transaction brings the order.
	condition := absent + " AND attribute_exists(orderId)"

	return p.orders.cfg.Mapping.part(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName:           &p.orders.cfg.Table,
		Key:                 orderKey(s.id),
		ConditionExpression: &condition,
	}})
}

// refused returns the error of an edit whose condition failed on this image.
func (p *edition) refused(old image) error {
	s := sight{id: p.edit.OrderID, now: p.orders.clock.Now(), fresh: true}
	if len(old) > 0 {
		img, _ := p.orders.cfg.Mapping.image(old, s.id)

		var err error
		if s.order, err = decode(img); err != nil {
			return err
		}
	}

	// The edit is planned once more to find the refusal, such as a full order.
	switch d := p.decide(&s); {
	case d.err != nil:
		return d.err
	case d.result.Verdict != 0:
		return &EditRefusedError{d.result}
	}

	// The edit itself is allowed, but it was planned without the order as it is.
	return &EditRefusedError{Result{Order: s.order}}
}
