package dynamodb

import (
	"context"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/wire"
)

type putItemIn struct {
	TableName           *string
	Item                attr.Item
	ConditionExpression *string
	expressionIn
	returnsIn
	legacyIn
}

func (s *Service) putItem(_ context.Context, in *putItemIn) (any, error) {
	if err := in.legacyIn.refuse(); err != nil {
		return nil, err
	}

	if err := in.returnsIn.check(); err != nil {
		return nil, err
	}

	if err := checkReturnsOld(in.ReturnValues); err != nil {
		return nil, err
	}

	t, err := s.lookup(in.TableName)
	if err != nil {
		return nil, err
	}

	a, err := newPut(t, in.Item)
	if err != nil {
		return nil, err
	}

	if err := a.setCondition(in.ConditionExpression, &in.expressionIn); err != nil {
		return nil, err
	}

	return s.answerWrite(a, &in.returnsIn)
}

// newPut returns the action that puts the item, which it checks against the table.
func newPut(t *table, item attr.Item) (*action, error) {
	if item == nil {
		return nil, wire.Missing("item")
	}

	if err := item.Err(); err != nil {
		return nil, err
	}

	if item.Size() > MaxItem {
		return nil, invalid("Item size has exceeded the maximum allowed size")
	}

	key, err := t.keyIn(item)
	if err != nil {
		return nil, err
	}

	indexes := t.state.Load().record.Indexes
	for i := range indexes {
		if err := indexes[i].checkItem(item, false); err != nil {
			return nil, err
		}
	}

	return &action{verb: put, table: t, key: key, item: item}, nil
}
