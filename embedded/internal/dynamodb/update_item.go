package dynamodb

import (
	"context"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/expression"
)

type updateItemIn struct {
	TableName           *string
	Key                 attr.Item
	UpdateExpression    *string
	ConditionExpression *string
	references.Parameters
	returnsIn
	AttributeUpdates map[string]legacy.AttributeUpdate
	legacy.Conditional
}

func (s *Service) updateItem(_ context.Context, in *updateItemIn) (any, error) {
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

	a.returnOld = in.ReturnValuesOnConditionCheckFailure == "ALL_OLD"

	// ALL_OLD does not need the decoded item: the answer has the stored bytes.
	a.needOld = in.ReturnValues == "UPDATED_OLD"

	c, err := s.perform(a)
	if err != nil {
		return nil, err
	}

	out := answer.New(2 * c.newSize)
	if err := c.appendReturned(out, in.ReturnValues); err != nil {
		return nil, err
	}
	addCollection(out, in.ReturnItemCollectionMetrics, c)
	capacity.Add(out, in.ReturnConsumedCapacity, t.Name, c.spent())

	return out.Done(), nil
}

// setUpdate parses the expressions of an update. Without an expression the action only creates the
// item if there is none.
func (a *action) setUpdate(src, condition *string, in *references.Parameters) error {
	p, err := in.Params("UpdateExpression and ConditionExpression are", src != nil || condition != nil)
	if err != nil || p == nil {
		return err
	}

	if src != nil {
		if *src == "" {
			return invalid("Invalid UpdateExpression: The expression can not be empty;")
		}

		if a.update, err = expression.ParseUpdate(*src, p); err != nil {
			return err
		}
	}

	if condition != nil {
		if a.cond, err = references.ParseCondition("ConditionExpression", *condition, p); err != nil {
			return err
		}
	}

	// This comes after both expressions, which share the references.
	return p.Unused()
}

// keepsKey refuses an update of a key attribute.
func (a *action) keepsKey() error {
	hash, sort := a.table.Keys.Hash.Name, a.table.Keys.Range.Name
	for _, name := range [...]string{min(hash, sort), max(hash, sort)} { // sort may be ""
		if name != "" && a.update.WritesTo(name) {
			return &keyspace.Mismatch{Err: invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", name)}
		}
	}

	return nil
}

// constrain checks the members against the API model.
func (in *updateItemIn) constrain(s *Service) error {
	var c model.Constraints
	c.Capacity(in.ReturnConsumedCapacity)
	s.tables.ConstrainTable(&c, in.TableName, "tableName")
	c.CollectionMetrics(in.ReturnItemCollectionMetrics)
	c.ReturnValues(in.ReturnValues)

	if in.Key == nil {
		c.Missing("key")
	}
	in.Conditional.Constrain(&c)
	c.ReturnsOnFailure(in.ReturnValuesOnConditionCheckFailure)

	return c.Err()
}

// refuseMix refuses AttributeUpdates and Expected beside expressions.
func (in *updateItemIn) refuseMix() error {
	if len(in.AttributeUpdates) == 0 && !in.Any() {
		return nil
	}

	old := append([]legacy.Parameter{{Name: "AttributeUpdates", Given: len(in.AttributeUpdates) > 0}}, legacy.ExpectedParameters(&in.Conditional)...)

	return legacy.RefuseMix(old, []legacy.Parameter{
		{Name: "UpdateExpression", Given: in.UpdateExpression != nil}, {Name: "ConditionExpression", Given: in.ConditionExpression != nil},
	})
}

// draft returns the action, as far as the request itself shows it.
func (in *updateItemIn) draft() (*action, error) {
	if err := in.refuseMix(); err != nil {
		return nil, err
	}

	used := in.UpdateExpression != nil || in.ConditionExpression != nil
	if err := in.Beside(used, used, "UpdateExpression and ConditionExpression are"); err != nil {
		return nil, err
	}

	a, err := draftKeyed(update, in.Key)
	if err != nil {
		return nil, err
	}

	if a.update, err = legacy.NewUpdate(in.AttributeUpdates); err != nil {
		return nil, err
	}

	if a.cond, err = in.Condition(); err != nil {
		return nil, err
	}

	// The legacy parameters, or no update at all: the action then only creates the item.
	if !used {
		return a, nil
	}

	return a, a.setUpdate(in.UpdateExpression, in.ConditionExpression, &in.Parameters)
}

// appendReturned adds the attributes that ReturnValues asks for. A whole item is added as it is
// stored.
func (c *change) appendReturned(out *answer.Object, values string) error {
	var whole stored.Item
	switch values {
	case "ALL_OLD":
		whole = c.oldRaw
	case "ALL_NEW":
		whole = c.newRaw
	}

	if whole != nil {
		return out.Stored("Attributes", whole, nil)
	}

	if attrs := c.returnedAttributes(values); len(attrs) > 0 {
		out.Item("Attributes", attrs)
	}

	return nil
}

// returnedAttributes returns the attributes that ReturnValues asks for.
func (c *change) returnedAttributes(values string) attr.Item {
	switch values {
	case "ALL_OLD":
		return c.old
	case "ALL_NEW":
		return c.new
	case "UPDATED_OLD":
		if c.update != nil && c.old != nil {
			return c.update.Project(c.old)
		}
	case "UPDATED_NEW":
		if c.update != nil {
			return c.update.Project(c.new)
		}
	}

	return nil
}
