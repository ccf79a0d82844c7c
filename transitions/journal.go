package transitions

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/attribute"
	"ratchet/workflow"
)

// The journal is the history of every order: one row per applied transition, key
// orderId + transitionId, written once, by whoever reads the orders' stream or with the
// transition itself (see [JournalMode]). Each row names the id before it, so that a reader can tell "never applied" from "not
// written yet": only an unbroken chain is evidence.

// Record writes the change's transition into the journal. A row that is there
// already is left as it is.
func (o *Orders) Record(ctx context.Context, c Change) error {
	if o.cfg.JournalTable == "" {
		return fmt.Errorf("record transition %d of order %s: no journal table is configured", c.Transition.ID, c.New.ID)
	}
	t := c.Transition
	row := journalRow(c.New.ID, t, c.PreviousID(), c.New.DefinitionVersion)
	_, err := o.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &o.cfg.JournalTable, Item: row, ConditionExpression: &absent})
	var exists *types.ConditionalCheckFailedException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("record transition %d of order %s: %w", t.ID, c.New.ID, err)
	}
	return nil
}

// journalRow is the row of a transition.
func journalRow(id OrderID, t Transition, previous TransitionID, version int) image {
	row := image{
		"orderId": attribute.S(string(id)), "transitionId": attribute.N(int64(t.ID)), "previousId": attribute.N(int64(previous)),
		"event": attribute.S(string(t.Event)), "toState": attribute.S(string(t.To)), "at": attribute.N(t.At.UnixMilli()),
		"definitionVersion": attribute.N(int64(version)), "hash": t.content.value(),
	}
	if t.From != "" {
		row["fromState"] = attribute.S(string(t.From))
	}
	if t.request != (digest{}) {
		row["req"] = t.request.value()
	}
	if t.allotted {
		row["allotted"] = &types.AttributeValueMemberBOOL{Value: true}
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
	err := o.journal(ctx, id, after+1, limit, func(t Transition, _ TransitionID) bool {
		out = append(out, t)
		return limit <= 0 || len(out) < limit
	})
	if err != nil {
		return nil, fmt.Errorf("history of order %s: %w", id, err)
	}
	return out, nil
}

// evidence tells whether the id was applied, by the journal. Not found means
// proved never applied: the chain jumps over the id.
func (o *Orders) evidence(ctx context.Context, id OrderID, want TransitionID) (t Transition, found bool, err error) {
	passed := false
	err = o.journal(ctx, id, want, 1, func(row Transition, previous TransitionID) bool {
		t, found, passed = row, row.ID == want, previous < want
		return false
	})
	if err == nil && !found && !passed {
		err = ErrJournalBehind
	}
	return t, found, err
}

// evidenceOfRequest looks for a request id among the transitions up to the given
// one. Every row of the chain must be there, or nothing is proved.
func (o *Orders) evidenceOfRequest(ctx context.Context, r Request, upTo TransitionID) (t Transition, found bool, err error) {
	want := r.RequestID.digest()
	var last TransitionID
	broken := false
	err = o.journal(ctx, r.OrderID, 0, 0, func(row Transition, previous TransitionID) bool {
		if row.request == want {
			t, found = row, true
			return false
		}
		broken = broken || previous != last
		last = row.ID
		return last < upTo
	})
	if err == nil && !found && (broken || last < upTo) {
		err = ErrJournalBehind
	}
	return t, found, err
}

// journal calls fn for the order's rows from the id on, with the id before each,
// until fn returns false.
func (o *Orders) journal(ctx context.Context, id OrderID, from TransitionID, page int, fn func(t Transition, previous TransitionID) bool) error {
	condition, consistent := "orderId = :order AND transitionId >= :from", true
	input := &dynamodb.QueryInput{
		TableName: &o.cfg.JournalTable, KeyConditionExpression: &condition, ConsistentRead: &consistent,
		ExpressionAttributeValues: image{":order": attribute.S(string(id)), ":from": attribute.N(int64(from))},
	}
	if page > 0 {
		limit := int32(min(page, 1000)) //nolint:gosec // bounded
		input.Limit = &limit
	}
	for {
		out, err := o.cfg.DynamoDB.Query(ctx, input)
		if err != nil {
			return err
		}
		for _, row := range out.Items {
			t, previous, err := decodeRow(row)
			if err != nil {
				return err
			}
			if !fn(t, previous) {
				return nil
			}
		}
		if input.ExclusiveStartKey = out.LastEvaluatedKey; len(input.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

func decodeRow(row image) (Transition, TransitionID, error) {
	r := reader{}
	t := Transition{
		ID:       TransitionID(r.number(row, "transitionId")),
		Event:    workflow.Event(r.text(row, "event")),
		From:     workflow.State(r.optional(row, "fromState")),
		To:       workflow.State(r.text(row, "toState")),
		At:       r.time(row, "at"),
		content:  r.digest(row, "hash"),
		request:  r.digest(row, "req"),
		allotted: row["allotted"] != nil,
	}
	previous := TransitionID(r.number(row, "previousId"))
	if r.err != nil {
		return t, 0, errors.New("journal row " + strconv.FormatInt(int64(t.ID), 10) + ": " + r.err.Error())
	}
	return t, previous, nil
}
