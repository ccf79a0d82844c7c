package dynamodb

import (
	"maps"
	"slices"
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// The parameters that expressions have replaced. They become the same trees as expressions. An
// empty map counts as no map.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html

// parameter is a parameter of a request, with whether the request has it.
type parameter struct {
	name  string
	given bool
}

// refuseMix refuses a request that has legacy parameters beside expressions.
func refuseMix(legacy, expressions []parameter) error {
	given := func(list []parameter) string {
		var names []string
		for _, p := range list {
			if p.given {
				names = append(names, p.name)
			}
		}

		return strings.Join(names, ", ")
	}

	old, current := given(legacy), given(expressions)
	if old == "" || current == "" {
		return nil
	}

	return invalid("Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {%s} Expression parameters: {%s}", old, current)
}

// legacyCondition is an element of KeyConditions, QueryFilter or ScanFilter.
type legacyCondition struct {
	AttributeValueList []attr.Value
	ComparisonOperator *string
}

// comparisons returns the comparisons of a parameter, by name. constraints.conditions has checked their
// operators.
func comparisons(given map[string]legacyCondition) ([]expression.Comparison, error) {
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

// conditions checks the operators of KeyConditions, QueryFilter or ScanFilter.
func (c *constraints) conditions(given map[string]legacyCondition, parameter string) {
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

// expectedAttribute is an element of Expected.
type expectedAttribute struct {
	AttributeValueList []attr.Value
	ComparisonOperator *string
	Exists             *bool
	Value              *attr.Value
}

// expectedIn has the parameters that writes of one item can have instead of a ConditionExpression.
type expectedIn struct {
	ConditionalOperator string
	Expected            map[string]expectedAttribute
}

// any reports whether the request has an Expected or a ConditionalOperator.
func (in *expectedIn) any() bool { return in.Expected != nil || in.ConditionalOperator != "" }

func (in *expectedIn) parameters() []parameter {
	return []parameter{{"Expected", len(in.Expected) > 0}, {"ConditionalOperator", in.ConditionalOperator != ""}}
}

// constrain checks the members that the API model describes.
func (in *expectedIn) constrain(c *constraints) {
	if !in.any() {
		return
	}
	c.conditionalOperator(in.ConditionalOperator)

	for _, name := range slices.Sorted(maps.Keys(in.Expected)) {
		c.Enum(in.Expected[name].ComparisonOperator, "expected."+name+".member.comparisonOperator", expression.Operators)
	}
}

func (c *constraints) conditionalOperator(operator string) {
	c.OneOf(operator, "conditionalOperator", "OR", "AND")
}

// refuseMix refuses the parameters beside a ConditionExpression.
func (in *expectedIn) refuseMix(conditionExpression *string) error {
	if !in.any() {
		return nil
	}

	return refuseMix(in.parameters(), []parameter{{"ConditionExpression", conditionExpression != nil}})
}

// condition returns Expected as a condition, nil for none.
func (in *expectedIn) condition() (*expression.Condition, error) {
	if !in.any() {
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

	return joined(list, in.ConditionalOperator)
}

// joined returns the condition that joins the comparisons, nil for none.
func joined(list []expression.Comparison, operator string) (*expression.Condition, error) {
	switch {
	case operator != "" && len(list) == 0:
		return nil, invalid("ConditionalOperator cannot be used without Filter or Expected")
	case operator != "" && len(list) == 1:
		return nil, invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
	case len(list) == 0:
		return nil, nil
	}

	return expression.NewCondition(list, operator == "OR"), nil
}

// comparison returns the element as a comparison.
func (e expectedAttribute) comparison(name string) (expression.Comparison, error) {
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
		return c, invalid("One or more parameter values were invalid: %s for Attribute: %s", fault, name)
	}

	return c, nil
}

// attributeUpdate is an element of AttributeUpdates.
type attributeUpdate struct {
	Action *string
	Value  *attr.Value
}

// newLegacyUpdate returns AttributeUpdates as an update, nil for none.
func newLegacyUpdate(updates map[string]attributeUpdate) (*expression.Update, error) {
	if len(updates) == 0 {
		return nil, nil
	}

	list := make([]expression.Assignment, 0, len(updates))
	for _, name := range slices.Sorted(maps.Keys(updates)) {
		u := updates[name]

		// PUT is the action of a request that names none.
		a := expression.Assignment{Name: name, Action: "PUT", Value: u.Value}
		if u.Action != nil {
			a.Action = *u.Action
		}

		if a.Action != "PUT" && a.Action != "ADD" && a.Action != "DELETE" {
			return nil, wire.BadParameter("'"+a.Action+"'", "attributeUpdates."+name+".member.action", "Member must satisfy enum value set: [ADD, DELETE, PUT]")
		}
		list = append(list, a)
	}

	return expression.NewUpdate(list)
}

// attributesToGet returns AttributesToGet as a projection, nil for none.
func attributesToGet(names []string) (*expression.Projection, error) {
	if names == nil {
		return nil, nil
	}

	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, invalid("One or more parameter values were invalid: Duplicate value in attribute name: %s", name)
		}
	}

	return expression.NewProjection(names)
}

// attributesToGet checks how many attributes an AttributesToGet names.
func (c *constraints) attributesToGet(names []string, member string) {
	if names != nil && (len(names) < 1 || len(names) > model.MaxName) {
		c.Length(len(names), list(names), member, 1, model.MaxName)
	}
}
