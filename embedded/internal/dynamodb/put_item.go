package dynamodb

import (
	"context"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/wire"
)

type putItemIn struct {
	TableName           *string
	Item                attr.Item
	ConditionExpression *string
	references.Parameters
	returnsIn
	legacy.Conditional
}

func (s *Service) putItem(_ context.Context, in *putItemIn) (any, error) {
	if err := in.constrain(s); err != nil {
		return nil, err
	}

	a, err := in.draft()
	if err != nil {
		return nil, err
	}

	t, err := s.tables.Lookup(in.TableName)
	if err != nil {
		return nil, err
	}

	if err := a.bind(t); err != nil {
		return nil, err
	}

	return s.answerWrite(a, &in.returnsIn)
}

// constrain checks the members against the API model.
func (in *putItemIn) constrain(s *Service) error {
	var c model.Constraints
	in.returnsIn.constrainOld(&c)
	s.tables.ConstrainTable(&c, in.TableName, "tableName")

	if in.Item == nil {
		c.Missing("item")
	}
	in.Conditional.Constrain(&c)

	return c.Err()
}

// draft returns the action, as far as the request itself shows it.
func (in *putItemIn) draft() (*action, error) {
	if err := legacy.RefuseExpected(&in.Conditional, in.ConditionExpression); err != nil {
		return nil, err
	}

	if err := in.Beside(in.ConditionExpression != nil, in.ConditionExpression != nil, "ConditionExpression is"); err != nil {
		return nil, err
	}

	a, err := draftPut(in.Item)
	if err != nil {
		return nil, err
	}

	if err := checkReturnsOld(in.ReturnValues); err != nil {
		return nil, err
	}

	return a, a.setConditions(in.ConditionExpression, &in.Parameters, &in.Conditional)
}

// newPut returns the action that puts the item into the table.
func newPut(t *catalog.Table, item attr.Item) (*action, error) {
	a, err := draftPut(item)
	if err != nil {
		return nil, err
	}

	return a, a.bind(t)
}

// draftPut returns the action that puts the item, before its table is known.
func draftPut(item attr.Item) (*action, error) {
	if item == nil {
		return nil, wire.Missing("item")
	}

	a := &action{verb: put, item: item}

	return a, a.checkValues()
}
