package references

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// Parameters is the part of a request that its expressions refer to.
type Parameters struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues attr.Item
}

// Params returns the references for the request's expressions, nil if it has none. used
// says that the request has an expression; fields lists, for DynamoDB's message, the
// expressions that it could have, as "ConditionExpression is".
func (e *Parameters) Params(fields string, used bool) (*expression.Params, error) {
	if !used {
		return nil, e.Beside(false, false, fields)
	}

	p := expression.NewParams(e.ExpressionAttributeNames, e.ExpressionAttributeValues)

	return p, p.Err()
}

// Beside refuses names without any expression, and values without an expression that can use them. fields
// lists these expressions for DynamoDB's message, as "FilterExpression is".
func (e *Parameters) Beside(used, usesValues bool, fields string) error {
	switch {
	case e.ExpressionAttributeNames != nil && !used:
		return wire.Invalid("ExpressionAttributeNames can only be specified when using expressions")
	case e.ExpressionAttributeValues != nil && !usesValues:
		return wire.Invalid("ExpressionAttributeValues can only be specified when using expressions: %s null", fields)
	}

	return nil
}

// Projection parses an optional ProjectionExpression, the only expression of its
// request.
func Projection(src *string, names map[string]string) (*expression.Projection, error) {
	in := Parameters{ExpressionAttributeNames: names}

	p, err := in.Params("", src != nil)
	if err != nil || src == nil {
		return nil, err
	}

	project, err := ParseProjection(*src, p)
	if err != nil {
		return nil, err
	}

	return project, p.Unused()
}

// ParseProjection parses a ProjectionExpression.
func ParseProjection(src string, p *expression.Params) (*expression.Projection, error) {
	if src == "" {
		return nil, wire.Invalid("Invalid ProjectionExpression: The expression can not be empty;")
	}
	return expression.ParseProjection(src, p)
}

// ParseCondition parses a condition or a filter. field is the name of its parameter.
func ParseCondition(field, src string, p *expression.Params) (*expression.Condition, error) {
	if src == "" {
		return nil, wire.Invalid("Invalid %s: The expression can not be empty;", field)
	}
	return expression.ParseCondition(field, src, p)
}
