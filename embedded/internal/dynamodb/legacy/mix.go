package legacy

import (
	"strings"

	"ratchet/embedded/internal/wire"
)

// Parameter is a parameter of a request, with whether the request has it.
type Parameter struct {
	Name  string
	Given bool
}

// RefuseMix refuses a request that has legacy parameters beside expressions.
func RefuseMix(replaced, expressions []Parameter) error {
	given := func(list []Parameter) string {
		var names []string
		for _, p := range list {
			if p.Given {
				names = append(names, p.Name)
			}
		}

		return strings.Join(names, ", ")
	}

	old, current := given(replaced), given(expressions)
	if old == "" || current == "" {
		return nil
	}

	return wire.Invalid("Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {%s} Expression parameters: {%s}", old, current)
}

// ExpectedParameters returns the legacy parameters of a write of one item.
func ExpectedParameters(in *Conditional) []Parameter {
	return []Parameter{{"Expected", len(in.Expected) > 0}, {"ConditionalOperator", in.ConditionalOperator != ""}}
}

// RefuseExpected refuses the legacy parameters of a write beside a ConditionExpression.
func RefuseExpected(in *Conditional, conditionExpression *string) error {
	if !in.Any() {
		return nil
	}

	return RefuseMix(ExpectedParameters(in), []Parameter{{"ConditionExpression", conditionExpression != nil}})
}
