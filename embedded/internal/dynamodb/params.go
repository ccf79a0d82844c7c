package dynamodb

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// expressionIn is the part of a request that its expressions refer to.
type expressionIn struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues attr.Item
}

// params returns the references for the request's expressions, nil if it has none. used
// says that the request has an expression; fields lists, for DynamoDB's message, the
// expressions that it could have, as "ConditionExpression is".
func (e *expressionIn) params(fields string, used bool) (*expression.Params, error) {
	if !used {
		return nil, e.beside(false, false, fields)
	}

	p := expression.NewParams(e.ExpressionAttributeNames, e.ExpressionAttributeValues)

	return p, p.Err()
}

// beside refuses names without any expression, and values without an expression that can use them. fields
// lists these expressions for DynamoDB's message, as "FilterExpression is".
func (e *expressionIn) beside(used, usesValues bool, fields string) error {
	switch {
	case e.ExpressionAttributeNames != nil && !used:
		return invalid("ExpressionAttributeNames can only be specified when using expressions")
	case e.ExpressionAttributeValues != nil && !usesValues:
		return invalid("ExpressionAttributeValues can only be specified when using expressions: %s null", fields)
	}

	return nil
}

// returnsIn has the parameters of a write that ask for parts of its answer.
type returnsIn struct {
	ReturnConsumedCapacity              string
	ReturnItemCollectionMetrics         string
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
}

// constrainOld checks the values against the values of all operations, in the order of PutItem and
// DeleteItem. Each operation later refuses the values that it does not support.
func (r *returnsIn) constrainOld(c *constraints) {
	c.returnValues(r.ReturnValues)
	c.Capacity(r.ReturnConsumedCapacity)
	c.CollectionMetrics(r.ReturnItemCollectionMetrics)
	c.returnsOnFailure(r.ReturnValuesOnConditionCheckFailure)
}

func (c *constraints) returnValues(value string) {
	c.OneOf(value, "returnValues", "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
}

func (c *constraints) returnsOnFailure(value string) {
	c.OneOf(value, "returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE")
}

func checkReturnsOnFailure(value string) error {
	return wire.OneOf(value, "returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE")
}

// checkCapacity validates ReturnConsumedCapacity.
func checkCapacity(value string) error {
	return wire.OneOf(value, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}
