package asl

import (
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

func (b *builder) compileChoice(s *State, o *object) {
	if o.has("Default") {
		s.Default = b.target(s, o, "Default")
	}

	v, _ := o.field("Choices")
	if rawjson.KindOf(v) != rawjson.Array || rawjson.Len(v) == 0 {
		b.fault(codeSchema, o.at+"/Choices", "the field 'Choices' must be an array with at least one rule")
		return
	}

	for c, i := rawjson.Walk(v), 0; c.Next(); i++ {
		prefix := fmt.Sprintf("Choices[%d]/", i)
		r := b.object(c.Value, o.at+"/"+strings.TrimSuffix(prefix, "/"))

		var rule Rule
		if s.JSONata {
			r.allowFields("a choice rule", "Condition", "Next", "Assign", "Output", "Comment")
			rule.Query, rule.Output = b.queryCondition(r, prefix), b.payload(r, "Output", prefix, 0)
		} else {
			rule.Condition = b.compileCondition(r, true, 0)
		}

		rule.Assign = b.assign(r, prefix, 0)
		rule.Next = b.target(s, r, "Next")
		s.Choices = append(s.Choices, rule)
	}
}

// queryCondition reads the Condition of a rule in JSONata: an expression, or a boolean.
func (b *builder) queryCondition(r *object, prefix string) *Payload {
	if !r.has("Condition") {
		b.fault(codeSchema, r.at, "the field 'Condition' is required")
		return nil
	}

	condition := b.payload(r, "Condition", prefix, 0)
	if condition == nil {
		return nil
	}

	// The kind of an expression's value is known only when it is evaluated.
	if v := condition.Query.Literal(); v != nil && rawjson.KindOf(v) != rawjson.Bool {
		b.fault(codeSchema, r.at+"/Condition", "the value for the field 'Condition' must be a BOOLEAN or a JSONata expression")
	}

	return condition
}

// maxRuleDepth is the number of And, Or and Not that may be nested.
const maxRuleDepth = 32

// compileCondition compiles one rule: And, Or, Not, or Variable with one operator. top
// says that the rule is not inside another one.
func (b *builder) compileCondition(o *object, top bool, depth int) Condition {
	if depth > maxRuleDepth {
		b.fault(codeDepth, o.at, "choice rules nest more than %d deep", maxRuleDepth)
		return nil
	}

	var operator string
	var value []byte
	count := 0
	for c := rawjson.Walk(o.raw); c.Next(); {
		switch name, _ := rawjson.Text(c.Key); name {
		case "Variable", "Comment":
		case "Condition", "Output":
			o.otherLanguage(name)
			return nil
		case "Next", "Assign":
			if !top {
				b.fault(codeSchema, o.at+"/"+name, "the field '%s' is only allowed in a top-level rule", name)
			}
		default:
			// Every other member must be the operator.
			operator, value = name, c.Value
			count++
		}
	}

	if count != 1 {
		b.fault(codeSchema, o.at, "a choice rule must have exactly one comparison operator")
		return nil
	}

	at := o.at + "/" + operator
	switch operator {
	case "And", "Or":
		return b.compileJunction(operator, value, at, depth)
	case "Not":
		return not{b.compileCondition(b.object(value, at), false, depth+1)}
	}

	if !o.has("Variable") {
		b.fault(codeSchema, o.at, "the field 'Variable' is required")
		return nil
	}

	return b.compileComparison(operator, o.path("Variable"), value, at)
}

// compileJunction compiles the rules of And or Or.
func (b *builder) compileJunction(operator string, value []byte, at string, depth int) Condition {
	if rawjson.KindOf(value) != rawjson.Array || rawjson.Len(value) == 0 {
		b.fault(codeSchema, at, "the value for the field '%s' must be an array with at least one rule", operator)
		return nil
	}

	var all []Condition
	for c, i := rawjson.Walk(value), 0; c.Next(); i++ {
		all = append(all, b.compileCondition(b.object(c.Value, fmt.Sprintf("%s[%d]", at, i)), false, depth+1))
	}

	if operator == "And" {
		return allOf(all)
	}

	return anyOf(all)
}

// compileComparison compiles a rule with a Variable and an operator.
func (b *builder) compileComparison(operator string, variable *jsonpath.Path, value []byte, at string) Condition {
	if strings.HasPrefix(operator, "Is") {
		if rawjson.KindOf(value) != rawjson.Bool {
			b.fault(codeSchema, at, "the value for the field '%s' must be a BOOLEAN", operator)
		}

		want := rawjson.True(value)
		if operator == "IsPresent" {
			return present{variable, want}
		}

		if is := tests[operator]; is != nil {
			return typed{variable, is, want}
		}
	}

	if operator == "StringMatches" {
		pattern, ok := rawjson.Text(value)
		if !ok {
			b.fault(codeSchema, at, "the value for the field 'StringMatches' must be a STRING")
		}

		return matches{variable, splitPattern(pattern)}
	}

	name, byPath := strings.CutSuffix(operator, "Path")
	for _, family := range comparedTypes {
		// The prefix and the suffix of the operator, as in Numeric + LessThan, choose the comparison.
		suffix, ok := strings.CutPrefix(name, family.prefix)
		if !ok || family.prefix == "Boolean" && suffix != "Equals" {
			continue
		}

		for _, relation := range relations {
			if relation.suffix != suffix {
				continue
			}

			c := comparison{variable: variable, order: family.order, accepts: relation.accepts}
			if byPath {
				text, _ := rawjson.Text(value)
				var err error
				if c.path, err = jsonpath.Compile(text); err != nil {
					b.fault(codeSchema, at, "the value for the field '%s' must be a valid JSONPath: %v", operator, err)
				} else {
					b.read(c.path.Variables())
				}

				return c
			}

			c.with = rawjson.AppendCompact(nil, value)
			// A constant of another type cannot be compared, not even with itself.
			if _, ok := family.order(c.with, c.with); !ok {
				b.fault(codeSchema, at, "the value for the field '%s' must be a %s", operator, family.constant)
			}

			return c
		}
	}

	b.fault(codeSchema, at, "'%s' is not a comparison operator", operator)

	return nil
}
