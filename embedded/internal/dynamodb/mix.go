package dynamodb

import (
	"strings"

	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
)

// parameter is a parameter of a request, with whether the request has it.
type parameter struct {
	name  string
	given bool
}

// refuseMix refuses a request that has legacy parameters beside expressions.
func refuseMix(replaced, expressions []parameter) error {
	given := func(list []parameter) string {
		var names []string
		for _, p := range list {
			if p.given {
				names = append(names, p.name)
			}
		}

		return strings.Join(names, ", ")
	}

	old, current := given(replaced), given(expressions)
	if old == "" || current == "" {
		return nil
	}

	return invalid("Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {%s} Expression parameters: {%s}", old, current)
}

// expectedParameters returns the legacy parameters of a write of one item.
func expectedParameters(in *legacy.Conditional) []parameter {
	return []parameter{{"Expected", len(in.Expected) > 0}, {"ConditionalOperator", in.ConditionalOperator != ""}}
}

// refuseExpected refuses the legacy parameters of a write beside a ConditionExpression.
func refuseExpected(in *legacy.Conditional, conditionExpression *string) error {
	if !in.Any() {
		return nil
	}

	return refuseMix(expectedParameters(in), []parameter{{"ConditionExpression", conditionExpression != nil}})
}

// attributesToGet checks how many attributes an AttributesToGet names.
func (c *constraints) attributesToGet(names []string, member string) {
	if names != nil && (len(names) < 1 || len(names) > model.MaxName) {
		c.Length(len(names), model.List(names), member, 1, model.MaxName)
	}
}
