package dynamodb

import (
	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// expressionIn is the part of a request that its expressions refer to.
type expressionIn struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues attr.Item
}

// params returns the references for the request's expressions, nil if it has none. used is
// whether the request has an expression; fields lists, for DynamoDB's message, the
// expressions that it could have, as "ConditionExpression is".
func (e *expressionIn) params(fields string, used bool) (*expression.Params, error) {
	if !used {
		if e.ExpressionAttributeNames != nil {
			return nil, invalid("ExpressionAttributeNames can only be specified when using expressions")
		}

		if e.ExpressionAttributeValues != nil {
			return nil, invalid("ExpressionAttributeValues can only be specified when using expressions: %s null", fields)
		}

		return nil, nil
	}

	if e.ExpressionAttributeNames != nil && len(e.ExpressionAttributeNames) == 0 {
		return nil, invalid("ExpressionAttributeNames must not be empty")
	}

	if e.ExpressionAttributeValues != nil && len(e.ExpressionAttributeValues) == 0 {
		return nil, invalid("ExpressionAttributeValues must not be empty")
	}

	return expression.NewParams(e.ExpressionAttributeNames, e.ExpressionAttributeValues), nil
}

// returnsIn is what the operations that write an item may ask for in their answer.
type returnsIn struct {
	ReturnConsumedCapacity              string
	ReturnItemCollectionMetrics         string
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
}

// check validates the values against those of all operations together; each operation
// then refuses those that it does not support.
func (r *returnsIn) check() error {
	if err := checkCapacity(r.ReturnConsumedCapacity); err != nil {
		return err
	}

	if err := wire.OneOf(r.ReturnItemCollectionMetrics, "returnItemCollectionMetrics", "SIZE", "NONE"); err != nil {
		return err
	}

	if err := wire.OneOf(r.ReturnValues, "returnValues", "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"); err != nil {
		return err
	}

	return checkReturnsOnFailure(r.ReturnValuesOnConditionCheckFailure)
}

func checkReturnsOnFailure(value string) error {
	return wire.OneOf(value, "returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE")
}

// legacyIn holds the parameters that expressions have replaced. The engine refuses them.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html
type legacyIn struct {
	AttributeUpdates    jsontext.Value
	AttributesToGet     jsontext.Value
	ConditionalOperator jsontext.Value
	Expected            jsontext.Value
	KeyConditions       jsontext.Value
	QueryFilter         jsontext.Value
	ScanFilter          jsontext.Value
}

func (l *legacyIn) refuse() error {
	for _, p := range []struct {
		name  string
		value jsontext.Value
		use   string
	}{
		{"AttributeUpdates", l.AttributeUpdates, "UpdateExpression"},
		{"AttributesToGet", l.AttributesToGet, "ProjectionExpression"},
		{"ConditionalOperator", l.ConditionalOperator, "ConditionExpression or FilterExpression"},
		{"Expected", l.Expected, "ConditionExpression"},
		{"KeyConditions", l.KeyConditions, "KeyConditionExpression"},
		{"QueryFilter", l.QueryFilter, "FilterExpression"},
		{"ScanFilter", l.ScanFilter, "FilterExpression"},
	} {
		if p.value != nil && p.value.Kind() != 'n' {
			return invalid("The legacy parameter %s is not supported by the embedded engine; use %s", p.name, p.use)
		}
	}

	return nil
}
