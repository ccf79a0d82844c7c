package dynamodb

import (
	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// expressionIn is the part of a request that expressions draw on.
type expressionIn struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues attr.Item
}

// params prepares the expressions' names and values; used tells whether the
// request has any expression that may use them, fields says which might have,
// like "ConditionExpression is".
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

// returnsIn is what every item operation may ask for besides.
type returnsIn struct {
	ReturnConsumedCapacity              string
	ReturnItemCollectionMetrics         string
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
}

// check validates the enumerations; returnValues lists what the operation knows.
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

	return checkOnFailure(r.ReturnValuesOnConditionCheckFailure)
}

func checkOnFailure(value string) error {
	return wire.OneOf(value, "returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE")
}

// legacyIn names the parameters from before expressions. The engine refuses
// them: nobody who speaks through a current SDK needs them.
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
