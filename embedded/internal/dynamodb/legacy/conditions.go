package legacy

import (
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/expression"
)

// Condition is an element of KeyConditions, QueryFilter or ScanFilter.
type Condition struct {
	AttributeValueList []attr.Value
	ComparisonOperator *string
}

// Comparisons returns the comparisons of a parameter, by name. ConstrainConditions has checked their
// operators.
func Comparisons(given map[string]Condition) ([]expression.Comparison, error) {
	if len(given) == 0 {
		return nil, nil
	}

	list := make([]expression.Comparison, 0, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		c := given[name]
		list = append(list, expression.Comparison{Name: name, Operator: *c.ComparisonOperator, Values: c.AttributeValueList})
	}

	return list, expression.CheckComparisons(list)
}

// ConstrainConditions checks the operators of KeyConditions, QueryFilter or ScanFilter.
func ConstrainConditions(c *model.Constraints, given map[string]Condition, parameter string) {
	if len(given) == 0 {
		return
	}

	for _, name := range slices.Sorted(maps.Keys(given)) {
		operator := given[name].ComparisonOperator
		at := parameter + "." + name + ".member.comparisonOperator"

		if operator == nil {
			c.Missing(at)
		}
		c.Enum(operator, at, expression.Operators)
	}
}

// ConstrainOperator checks a ConditionalOperator.
func ConstrainOperator(c *model.Constraints, operator string) {
	c.OneOf(operator, "conditionalOperator", "OR", "AND")
}
