package pages

import (
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/wire"
)

// Request has the parameters that Query and Scan share.
type Request struct {
	TableName              *string
	IndexName              *string
	ConsistentRead         bool
	ExclusiveStartKey      attr.Item
	FilterExpression       *string
	Limit                  *int64
	ProjectionExpression   *string
	ReturnConsumedCapacity string
	Select                 string
	AttributesToGet        []string
	ConditionalOperator    string
	references.Parameters
}

// ConstrainSelect checks the members that come first in Query and in Scan.
func (in *Request) ConstrainSelect(c *model.Constraints) {
	c.OneOf(in.Select, "select", "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")

	if in.IndexName != nil {
		c.Name(*in.IndexName, "indexName")
	}
}

// CheckSelect checks that Select and the projection of the request fit together.
func (in *Request) CheckSelect() error {
	switch {
	case in.Select == "SPECIFIC_ATTRIBUTES" && in.ProjectionExpression == nil && in.AttributesToGet == nil:
		return wire.Invalid("One or more parameter values were invalid: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case in.ProjectionExpression != nil && in.Select != "" && in.Select != "SPECIFIC_ATTRIBUTES":
		return wire.Invalid("Cannot specify the ProjectionExpression when choosing to get %s", in.Select)
	case in.AttributesToGet != nil && in.Select != "" && in.Select != "SPECIFIC_ATTRIBUTES":
		return wire.Invalid("Cannot specify the AttributesToGet when choosing to get %s", in.Select)
	}

	return nil
}

// CheckStartValues checks the values of an ExclusiveStartKey.
func (in *Request) CheckStartValues() error {
	err := in.ExclusiveStartKey.Err()
	if err == nil {
		return nil
	}

	text := err.Error()
	for _, bare := range bareStartFaults {
		if strings.Contains(text, bare) {
			return wire.Invalid("%s", text)
		}
	}

	return wire.Invalid("The provided starting key is invalid: %s", text)
}

// bareStartFaults are parts of messages about values. In an ExclusiveStartKey, messages
// with one of these parts get no prefix.
// Source: https://github.com/architect/dynalite test/query.js, recorded on the service
var bareStartFaults = []string{"contains duplicates", "number set", "numeric value", "significant digits", "number with magnitude"}

// LegacyParameters returns the legacy parameters that Query and Scan share, in the order in which
// messages list them. name is QueryFilter or ScanFilter.
func (in *Request) LegacyParameters(name string, filter map[string]legacy.Condition) []legacy.Parameter {
	return []legacy.Parameter{
		{Name: "AttributesToGet", Given: len(in.AttributesToGet) > 0},
		{Name: name, Given: len(filter) > 0},
		{Name: "ConditionalOperator", Given: in.ConditionalOperator != ""},
	}
}

// ExpressionParameters is LegacyParameters for the expressions.
func (in *Request) ExpressionParameters() []legacy.Parameter {
	return []legacy.Parameter{{Name: "ProjectionExpression", Given: in.ProjectionExpression != nil}, {Name: "FilterExpression", Given: in.FilterExpression != nil}}
}
