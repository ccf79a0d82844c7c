package transitions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// JournalMode says who writes the journal.
type JournalMode uint8

const (
	// JournalByStream: whoever reads the orders' stream writes the rows (see
	// [Orders.Record]). A transition costs one write unit per KB and no read; the
	// journal lags behind by as much as the reader.
	JournalByStream JournalMode = iota
	// JournalTransactional: the row is written in the same TransactWriteItems as the
	// transition, so the journal is never behind. A row names the state and the id
	// before it, which one write cannot copy from another item: every transition reads
	// the order first (one read unit per 4 KB) and pays double for both writes (four
	// write units for an order up to 1 KB).
	JournalTransactional
)

func (m JournalMode) String() string {
	switch m {
	case JournalByStream:
		return "stream"
	case JournalTransactional:
		return "transactional"
	}

	return fmt.Sprintf("JournalMode(%d)", uint8(m))
}

// applyKnown is applyUnder with the journal's row in the same transaction. It knows
// the order beforehand, so the write is pinned to the very state, id and content.
func (o *Orders) applyKnown(ctx context.Context, r Request, id TransitionID, groups []workflow.Group, trace int) (Result, error) {
	order, found, err := o.Get(ctx, r.OrderID)
	if err != nil || !found {
		return Result{Verdict: NotFound}, err
	}

	w := o.prepare(r, id, groups[0], trace)
	for attempt := 0; ; attempt++ {
		result, err := o.judge(ctx, w, order)
		if attempt > 0 {
			err = unsettled(err)
		}

		if err != nil || result.Verdict != WrongState {
			return result, err
		}

		move, reason, possible, err := choose(r, groups, order)
		if err != nil || !possible {
			result.Expected, result.Reason = expected(groups), reason
			return result, err
		}

		if attempt == o.cfg.Attempts {
			return Result{}, ErrContended
		}
		w.group = workflow.Group{From: []workflow.State{order.State}, To: move.To, Guards: move.Guards}

		moved, old, err := o.transact(ctx, w, order)
		switch {
		case err != nil:
			return Result{}, err
		case moved != nil:
			t, _ := moved.slot(id)
			return Result{Verdict: Applied, Transition: t, Order: moved}, nil
		case old == nil:
			return Result{Verdict: NotFound}, nil
		}
		order = old
	}
}

// transact sends the write and its journal row until DynamoDB has decided. It returns
// the order after the move, or the order (nil for none) that made the condition fail.
func (o *Orders) transact(ctx context.Context, w write, base *Order) (moved, old *Order, err error) {
	if !base.ringed {
		if err := o.adopt(ctx, base.ID, "recent"); err != nil {
			return nil, nil, err
		}
	}
	after := base.moved(w, o.def.Version())
	t, _ := after.slot(w.id)
	values := o.values(w)

	condition, names, err := w.guarded(pinned(base, values), values)
	if err != nil {
		return nil, nil, err
	}
	update, names := w.expression(names, values)

	img, failed, err := o.transactAll(ctx, base.ID, []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: &o.cfg.Table, Key: image{"orderId": dynamo.S(string(base.ID))},
			ConditionExpression: &condition, UpdateExpression: update,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}},
		o.rowPut(base.ID, t, base),
	})
	switch {
	case err != nil:
		return nil, nil, err
	case !failed:
		return after, nil, nil
	case len(img) == 0:
		return nil, nil, nil
	}
	old, err = decode(img)

	return nil, old, err
}

// pinned is the condition that nothing has happened to the order since it was read.
func pinned(base *Order, values image) string {
	values[":from0"] = dynamo.S(string(base.State))
	values[":previous"] = dynamo.N(int64(base.TransitionID))
	values[":content"] = dynamo.N(int64(base.ContentVersion))

	return "orderState = :from0 AND " + isOrAbsent("transitionId", ":previous", base.TransitionID == 0) +
		" AND " + isOrAbsent("contentVersion", ":content", base.ContentVersion == 0)
}

// isOrAbsent compares an attribute that may be absent instead of zero.
func isOrAbsent(attribute, placeholder string, zero bool) string {
	if zero {
		return "(attribute_not_exists(" + attribute + ") OR " + attribute + " = " + placeholder + ")"
	}
	return attribute + " = " + placeholder
}

// rowPut is the journal's row of a transition, written once; old is the order before it.
func (o *Orders) rowPut(id OrderID, t Transition, old *Order) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &o.cfg.JournalTable, Item: journalRow(id, t, old, o.def.Version()), ConditionExpression: &absent,
	}}
}

// transactAll sends a transaction whose first item is the order and whose second is
// its journal row. It reports whether the order's condition failed, and the order
// that made it fail. The token makes DynamoDB answer a repeated sending like the first
// for ten minutes; later the order's ring tells (see compare).
func (o *Orders) transactAll(ctx context.Context, id OrderID, items []types.TransactWriteItem) (img image, failed bool, err error) {
	input := &dynamodb.TransactWriteItemsInput{TransactItems: items, ClientRequestToken: aws.String(nonce())}
	giveUp := ErrContended // a cancelled transaction has written nothing
	for attempt := 1; ; attempt++ {
		_, err := o.cfg.DynamoDB.TransactWriteItems(ctx, input)
		if err == nil {
			return nil, false, nil
		}

		var canceled *types.TransactionCanceledException
		if errors.As(err, &canceled) {
			img, verdict := reasons(canceled)
			switch verdict {
			case orderRefused:
				return img, true, nil
			case rowRefused:
				return nil, false, fmt.Errorf("order %s: %w", id, ErrJournalAhead)
			case broken:
				return nil, false, fmt.Errorf("%w (%s)", err, describeReasons(canceled))
			}
		} else if !ambiguous(ctx, err) {
			return nil, false, err
		} else {
			giveUp = ErrOutcomeUnknown
		}

		if attempt == o.cfg.Attempts {
			return nil, false, errors.Join(giveUp, err)
		}

		if !pause(ctx, attempt) {
			return nil, false, errors.Join(giveUp, context.Cause(ctx), err)
		}
	}
}

// What a cancelled transaction means.
const (
	collided     = iota // with another one, or throttled: send it again
	orderRefused        // the order's condition failed
	rowRefused          // only the journal's row was there already
	broken              // it can never succeed
)

// reasons reads a cancellation by position: the order first, its row second. The
// order's answer goes before the row's, since a transition that was made has both.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
func reasons(e *types.TransactionCanceledException) (image, int) {
	verdict := broken
	for i, r := range e.CancellationReasons {
		switch code := aws.ToString(r.Code); {
		case code == "ConditionalCheckFailed" && i == 0:
			return r.Item, orderRefused
		case code == "ConditionalCheckFailed" && verdict == broken:
			verdict = rowRefused
		case code == "TransactionConflict", code == "ThrottlingError", code == "ProvisionedThroughputExceeded":
			verdict = collided
		}
	}

	return nil, verdict
}

func describeReasons(e *types.TransactionCanceledException) string {
	var text []string
	for _, r := range e.CancellationReasons {
		if code := aws.ToString(r.Code); code != "None" {
			text = append(text, code+": "+aws.ToString(r.Message))
		}
	}

	return fmt.Sprint(text)
}

// moved is the order after the write, which was pinned to this very order.
func (o *Order) moved(w write, version int) *Order {
	after := *o
	after.item = nil
	at := time.UnixMilli(w.at.UnixMilli()).UTC()
	after.PreviousState, after.State, after.TransitionID = o.State, w.group.To, w.id
	after.DefinitionVersion, after.UpdatedAt = version, at

	t := Transition{ID: w.id, Event: w.request.Event, From: o.State, To: w.group.To, At: at, call: w.call,
		assigned: w.trace == traceAssigned, narrowed: w.request.From != ""}
	if w.trace != traceNone {
		t.request = w.request.RequestID.digest()
	}

	after.ring[w.id%RingSize], after.ringed = t, true
	if w.load != nil {
		after.loaded(w.load)
	}

	return &after
}

// createJournaled places the order and its journal row in one transaction.
func (o *Orders) createJournaled(ctx context.Context, n NewOrder, item image, w write) (Result, error) {
	order, err := decode(item)
	if err != nil {
		return Result{}, err
	}
	t, _ := order.slot(PlaceID)

	img, failed, err := o.transactAll(ctx, n.ID, []types.TransactWriteItem{
		{Put: &types.Put{TableName: &o.cfg.Table, Item: item, ConditionExpression: &absent,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}},
		o.rowPut(n.ID, t, nil),
	})
	switch {
	case err != nil:
		return Result{}, err
	case failed:
		return placedBefore(img, n, w)
	}

	return Result{Verdict: Applied, Transition: t, Order: order}, nil
}
