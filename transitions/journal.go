package transitions

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// The journal is the history of every order: one row per applied transition, key
// orderId + transitionId, written once, by whoever reads the orders' stream or with the
// transition itself (see [JournalMode]). Each row names the id before it, so that a reader
// can tell "never applied" from "not written yet": only an unbroken chain is evidence. It
// begins with placing, or with our first transition of an order that others had moved;
// that row is marked as adopted, since the ids before it have no rows and never will.

// Record writes the change's transition into the journal. A row that is there
// already is left as it is.
func (o *Orders) Record(ctx context.Context, c Change) error {
	if o.cfg.JournalTable == "" {
		return fmt.Errorf("record transition %d of order %s: no journal table is configured", c.Transition.ID, c.New.ID)
	}
	t := c.Transition

	row := journalRow(c.New.ID, t, c.Old, c.New.DefinitionVersion)
	_, err := o.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:           &o.cfg.JournalTable,
		Item:                row,
		ConditionExpression: &absent,
	})
	if _, exists := dynamo.FailedCondition(err); err != nil && !exists {
		return fmt.Errorf("record transition %d of order %s: %w", t.ID, c.New.ID, err)
	}

	return nil
}

// journalRow is the row of a transition; old is the order before it, nil for placing.
func journalRow(id OrderID, t Transition, old *Order, version int) image {
	var previous TransitionID
	if old != nil {
		previous = old.TransitionID
	}

	row := image{
		"orderId": dynamo.S(string(id)), "transitionId": dynamo.N(int64(t.ID)), "previousId": dynamo.N(int64(previous)),
		"event": dynamo.S(string(t.Event)), "toState": dynamo.S(string(t.To)), "at": dynamo.N(t.At.UnixMilli()),
		"definitionVersion": dynamo.N(int64(version)),
	}
	if previous > 0 && old.ring == ([ringSize]Transition{}) {
		row["adopted"] = &types.AttributeValueMemberBOOL{Value: true}
	}

	if t.From != "" {
		row["fromState"] = dynamo.S(string(t.From))
	}

	if t.request != (digest{}) {
		row["req"] = t.request.value()
	}

	if t.assigned {
		row["allotted"] = &types.AttributeValueMemberBOOL{Value: true}
	}

	if t.narrowed {
		row["narrowed"] = &types.AttributeValueMemberBOOL{Value: true}
	}

	return row
}

// History returns up to limit transitions of the order with an id above after,
// oldest first, as the journal has them. It may lag behind the order by as much as
// the stream's reader does.
func (o *Orders) History(ctx context.Context, id OrderID, after TransitionID, limit int) ([]Transition, error) {
	if o.cfg.JournalTable == "" {
		return nil, fmt.Errorf("history of order %s: no journal table is configured", id)
	}
	var out []Transition

	err := o.journal(ctx, id, after+1, limit, func(row Row) bool {
		out = append(out, row.Transition)
		return limit <= 0 || len(out) < limit
	})
	if err != nil {
		return nil, fmt.Errorf("history of order %s: %w", id, err)
	}

	return out, nil
}

// journal calls fn for the order's rows from the id on, until fn returns false.
func (o *Orders) journal(ctx context.Context, id OrderID, from TransitionID, page int, fn func(Row) bool) error {
	condition, consistent := "orderId = :order AND transitionId >= :from", true

	input := &dynamodb.QueryInput{
		TableName: &o.cfg.JournalTable, KeyConditionExpression: &condition, ConsistentRead: &consistent,
		ExpressionAttributeValues: image{":order": dynamo.S(string(id)), ":from": dynamo.N(int64(from))},
	}
	if page > 0 {
		limit := int32(min(page, 1000))
		input.Limit = &limit
	}

	for {
		out, err := o.cfg.DynamoDB.Query(ctx, input)
		if err != nil {
			return asUnavailable(ctx, err)
		}

		for _, item := range out.Items {
			row, err := decodeRow(item)
			if err != nil {
				return err
			}

			if !fn(row) {
				return nil
			}
		}

		if input.ExclusiveStartKey = out.LastEvaluatedKey; len(input.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

func decodeRow(item image) (Row, error) {
	r := reader{}
	row := Row{
		Transition: Transition{
			ID:       TransitionID(r.number(item, "transitionId")),
			Event:    workflow.Event(r.text(item, "event")),
			From:     workflow.State(r.optional(item, "fromState")),
			To:       workflow.State(r.text(item, "toState")),
			At:       r.time(item, "at"),
			request:  r.digest(item, "req"),
			assigned: item["allotted"] != nil,
			narrowed: item["narrowed"] != nil,
		},
		PreviousID:        TransitionID(r.number(item, "previousId")),
		DefinitionVersion: int(r.number(item, "definitionVersion")),
		adopted:           item["adopted"] != nil,
	}
	if r.err != nil {
		return Row{}, &JournalError{At: row.ID, Unreadable: true, What: r.err.Error()}
	}

	return row, nil
}
