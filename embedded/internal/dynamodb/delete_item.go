package dynamodb

import (
	"context"
	"encoding/json"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/wire"
)

type deleteItemIn struct {
	TableName           *string
	Key                 attr.Item
	ConditionExpression *string
	references.Parameters
	returnsIn
	legacy.Conditional
}

func (s *Service) deleteItem(_ context.Context, in *deleteItemIn) (any, error) {
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
func (in *deleteItemIn) constrain(s *Service) error {
	var c model.Constraints
	in.returnsIn.constrainOld(&c)
	s.tables.ConstrainTable(&c, in.TableName, "tableName")

	if in.Key == nil {
		c.Missing("key")
	}
	in.Conditional.Constrain(&c)

	return c.Err()
}

// draft returns the action, as far as the request itself shows it.
func (in *deleteItemIn) draft() (*action, error) {
	if err := legacy.RefuseExpected(&in.Conditional, in.ConditionExpression); err != nil {
		return nil, err
	}

	if err := in.Beside(in.ConditionExpression != nil, in.ConditionExpression != nil, "ConditionExpression is"); err != nil {
		return nil, err
	}

	a, err := draftKeyed(remove, in.Key)
	if err != nil {
		return nil, err
	}

	if err := checkReturnsOld(in.ReturnValues); err != nil {
		return nil, err
	}

	return a, a.setConditions(in.ConditionExpression, &in.Parameters, &in.Conditional)
}

// setConditions sets the condition of an Expected or a ConditionExpression. A request cannot have
// both.
func (a *action) setConditions(condition *string, in *references.Parameters, old *legacy.Conditional) error {
	expected, err := old.Condition()
	if err != nil {
		return err
	}

	a.cond = expected

	if condition == nil {
		return nil
	}

	return a.setCondition(condition, in)
}

// newKeyed returns an action on the item with that key.
func newKeyed(v verb, t *catalog.Table, key attr.Item) (*action, error) {
	if key == nil {
		return nil, wire.Missing("key")
	}

	a, err := draftKeyed(v, key)
	if err != nil {
		return nil, err
	}

	return a, a.bind(t)
}

// checkReturnsOld refuses the ReturnValues that PutItem and DeleteItem do not support.
func checkReturnsOld(returnValues string) error {
	if returnValues == "" || returnValues == "NONE" || returnValues == "ALL_OLD" {
		return nil
	}
	return invalid("ReturnValues can only be ALL_OLD or NONE")
}

// setCondition parses the condition of a Put, Delete or ConditionCheck. It is the only
// expression of such an action, so unused references are an error.
func (a *action) setCondition(condition *string, in *references.Parameters) error {
	p, err := in.Params("ConditionExpression is", condition != nil)
	if err != nil || condition == nil {
		return err
	}

	if a.cond, err = references.ParseCondition("ConditionExpression", *condition, p); err != nil {
		return err
	}

	return p.Unused()
}

// answerWrite performs the action and returns the answer of PutItem and DeleteItem.
func (s *Service) answerWrite(a *action, in *returnsIn) (json.RawMessage, error) {
	a.returnOld = in.ReturnValuesOnConditionCheckFailure == "ALL_OLD"
	a.needOld = in.ReturnValues == "ALL_OLD"

	c, err := s.perform(a)
	if err != nil {
		return nil, err
	}

	out := answer.New(0)
	if a.needOld && c.old != nil {
		out.Item("Attributes", c.old)
	}
	addCollection(out, in.ReturnItemCollectionMetrics, c)
	capacity.Add(out, in.ReturnConsumedCapacity, a.table.Name, c.spent())

	return out.Done(), nil
}
