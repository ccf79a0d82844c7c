package dynamodb

import (
	"context"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

type updateItemIn struct {
	TableName           *string
	Key                 attr.Item
	UpdateExpression    *string
	ConditionExpression *string
	expressionIn
	returnsIn
	legacyIn
}

func (s *Service) updateItem(_ context.Context, in *updateItemIn) (any, error) {
	if err := in.legacyIn.refuse(); err != nil {
		return nil, err
	}

	if err := in.returnsIn.check(); err != nil {
		return nil, err
	}

	t, err := s.lookup(in.TableName)
	if err != nil {
		return nil, err
	}

	a, err := newUpdate(t, in.Key, in.UpdateExpression, in.ConditionExpression, &in.expressionIn)
	if err != nil {
		return nil, err
	}
	a.returnOld = in.ReturnValuesOnConditionCheckFailure == "ALL_OLD"
	a.needOld = in.ReturnValues == "ALL_OLD" || in.ReturnValues == "UPDATED_OLD"

	c, err := s.perform(a)
	if err != nil {
		return nil, err
	}

	out := newAnswer(2 * c.newSize)
	if attrs := c.returnedAttributes(in.ReturnValues); len(attrs) > 0 {
		out.item("Attributes", attrs)
	}
	out.collection(in.ReturnItemCollectionMetrics, c)
	out.consumed(in.ReturnConsumedCapacity, t.name, c.spent())

	return out.done(), nil
}

// newUpdate returns the action that updates an item. Without an expression the action only
// creates the item if there is none.
func newUpdate(t *table, key attr.Item, src, condition *string, in *expressionIn) (*action, error) {
	a, err := newKeyed(update, t, key)
	if err != nil {
		return nil, err
	}

	p, err := in.params("UpdateExpression and ConditionExpression are", src != nil || condition != nil)
	if err != nil || p == nil {
		return a, err
	}

	if src != nil {
		if *src == "" {
			return nil, invalid("Invalid UpdateExpression: The expression can not be empty;")
		}

		if a.update, err = expression.ParseUpdate(*src, p); err != nil {
			return nil, err
		}
	}

	if condition != nil {
		if a.cond, err = parseCondition("ConditionExpression", *condition, p); err != nil {
			return nil, err
		}
	}

	if err := p.Unused(); err != nil || a.update == nil {
		return a, err
	}

	for _, name := range a.update.TopLevel() {
		if t.keys.has(name) {
			return nil, &schemaError{invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", name)}
		}
	}

	return a, nil
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
