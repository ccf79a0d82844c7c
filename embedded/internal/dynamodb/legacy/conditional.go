package legacy

import (
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// ExpectedAttribute is an element of Expected.
type ExpectedAttribute struct {
	AttributeValueList []attr.Value
	ComparisonOperator *string
	Exists             *bool
	Value              *attr.Value
}

// Conditional has the parameters that writes of one item can have instead of a ConditionExpression.
type Conditional struct {
	ConditionalOperator string
	Expected            map[string]ExpectedAttribute
}

// Any reports whether the request has an Expected or a ConditionalOperator.
func (in *Conditional) Any() bool { return in.Expected != nil || in.ConditionalOperator != "" }

// Constrain checks the members that the API model describes.
func (in *Conditional) Constrain(c *model.Constraints) {
	if !in.Any() {
		return
	}
	ConstrainOperator(c, in.ConditionalOperator)

	for _, name := range slices.Sorted(maps.Keys(in.Expected)) {
		c.Enum(in.Expected[name].ComparisonOperator, "expected."+name+".member.comparisonOperator", expression.Operators)
	}
}

// Condition returns Expected as a condition, nil for none.
func (in *Conditional) Condition() (*expression.Condition, error) {
	if !in.Any() {
		return nil, nil
	}

	list := make([]expression.Comparison, 0, len(in.Expected))
	for _, name := range slices.Sorted(maps.Keys(in.Expected)) {
		c, err := in.Expected[name].comparison(name)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}

	if err := expression.CheckComparisons(list); err != nil {
		return nil, err
	}

	return Joined(list, in.ConditionalOperator)
}

// Joined returns the condition that joins the comparisons, nil for none.
func Joined(list []expression.Comparison, operator string) (*expression.Condition, error) {
	switch {
	case operator != "" && len(list) == 0:
		return nil, wire.Invalid("ConditionalOperator cannot be used without Filter or Expected")
	case operator != "" && len(list) == 1:
		return nil, wire.Invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
	case len(list) == 0:
		return nil, nil
	}

	return expression.NewCondition(list, operator == "OR"), nil
}

// comparison returns the element as a comparison.
func (e ExpectedAttribute) comparison(name string) (expression.Comparison, error) {
	c := expression.Comparison{Name: name, Operator: "EQ", Values: e.AttributeValueList}
	if e.Value != nil {
		c.Values = []attr.Value{*e.Value}
	}

	fault := ""
	switch {
	case e.Value != nil && e.AttributeValueList != nil:
		fault = "Value and AttributeValueList cannot be used together"
	case e.ComparisonOperator != nil && e.Exists != nil:
		fault = "Exists and ComparisonOperator cannot be used together"
	case e.ComparisonOperator != nil:
		c.Operator = *e.ComparisonOperator
		if c.Values == nil && c.Operator != "NULL" && c.Operator != "NOT_NULL" {
			fault = "Value or AttributeValueList must be used with ComparisonOperator: " + c.Operator
		}
	case e.AttributeValueList != nil:
		fault = "AttributeValueList can only be used with a ComparisonOperator"
	case e.Exists == nil && e.Value == nil:
		fault = "Value must be provided when Exists is null"
	// A Value alone is compared by EQ.
	case e.Exists == nil:
	case *e.Exists && e.Value == nil:
		fault = "Value must be provided when Exists is true"
	case !*e.Exists && e.Value != nil:
		fault = "Value cannot be used when Exists is false"
	case !*e.Exists:
		c.Operator = "NULL"
	}

	if fault != "" {
		return c, wire.Invalid("One or more parameter values were invalid: %s for Attribute: %s", fault, name)
	}

	return c, nil
}
