package asl

import (
	"fmt"
	"strings"
	"time"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Condition decides a choice rule. The error is a *jsonpath.NotFoundError when
// the variable, or what it is compared with, is not there.
type Condition interface {
	Holds(s *jsonpath.Scope) (bool, error)
}

type (
	allOf []Condition
	anyOf []Condition
	not   struct{ Condition }
	// present is IsPresent, the one test that a missing variable does not fail.
	present struct {
		variable *jsonpath.Path
		want     bool
	}
	// typed is one of the other Is tests.
	typed struct {
		variable *jsonpath.Path
		is       func(v []byte) bool
		want     bool
	}
	// comparison compares the variable with a constant, or with another path.
	comparison struct {
		variable *jsonpath.Path
		with     []byte
		path     *jsonpath.Path
		order    func(a, b []byte) (order int, comparable bool)
		accepts  func(order int) bool
	}
	// matches is StringMatches: * stands for any text, \* for a star.
	matches struct {
		variable *jsonpath.Path
		pattern  []string
	}
)

func (c allOf) Holds(s *jsonpath.Scope) (bool, error) {
	for _, each := range c {
		if ok, err := each.Holds(s); !ok || err != nil {
			return false, err
		}
	}

	return true, nil
}

func (c anyOf) Holds(s *jsonpath.Scope) (bool, error) {
	for _, each := range c {
		if ok, err := each.Holds(s); ok || err != nil {
			return ok, err
		}
	}

	return false, nil
}

func (c not) Holds(s *jsonpath.Scope) (bool, error) {
	ok, err := c.Condition.Holds(s)
	return !ok && err == nil, err
}

func (c present) Holds(s *jsonpath.Scope) (bool, error) {
	_, err := c.variable.Evaluate(s)
	return (err == nil) == c.want, nil
}

func (c typed) Holds(s *jsonpath.Scope) (bool, error) {
	v, err := c.variable.Evaluate(s)
	return err == nil && c.is(v) == c.want, err
}

func (c comparison) Holds(s *jsonpath.Scope) (bool, error) {
	v, err := c.variable.Evaluate(s)
	if err != nil {
		return false, err
	}

	with := c.with
	if c.path != nil {
		if with, err = c.path.Evaluate(s); err != nil {
			return false, err
		}
	}
	order, ok := c.order(v, with)

	return ok && c.accepts(order), nil
}

func (c matches) Holds(s *jsonpath.Scope) (bool, error) {
	v, err := c.variable.Evaluate(s)
	if err != nil {
		return false, err
	}
	text, ok := rawjson.Text(v)

	return ok && wildcard(text, c.pattern), nil
}

// wildcard matches text against literal parts with any text between them.
func wildcard(text string, parts []string) bool {
	if len(parts) == 1 {
		return text == parts[0]
	}

	if !strings.HasPrefix(text, parts[0]) {
		return false
	}

	text = text[len(parts[0]):]
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}

	return strings.HasSuffix(text, parts[last])
}

// cut splits a StringMatches pattern at its unescaped stars.
func cut(pattern string) []string {
	parts := []string{""}
	for i := 0; i < len(pattern); i++ {
		last := len(parts) - 1
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern) && (pattern[i+1] == '*' || pattern[i+1] == '\\'):
			i++
			parts[last] += string(pattern[i])
		case c == '*':
			parts = append(parts, "")
		default:
			parts[last] += string(c)
		}
	}

	return parts
}

func orderTexts(a, b []byte) (int, bool) {
	x, okX := rawjson.Text(a)
	y, okY := rawjson.Text(b)
	return strings.Compare(x, y), okX && okY
}

func orderNumbers(a, b []byte) (int, bool) {
	if rawjson.KindOf(a) != rawjson.Number || rawjson.KindOf(b) != rawjson.Number {
		return 0, false
	}
	return rawjson.CompareNumbers(a, b), true
}

func orderTimes(a, b []byte) (int, bool) {
	x, okX := instant(a)
	y, okY := instant(b)
	return x.Compare(y), okX && okY
}

func orderBooleans(a, b []byte) (int, bool) {
	ok := rawjson.KindOf(a) == rawjson.Bool && rawjson.KindOf(b) == rawjson.Bool
	if rawjson.True(a) == rawjson.True(b) {
		return 0, ok
	}

	return 1, ok
}

func instant(v []byte) (time.Time, bool) {
	text, ok := rawjson.Text(v)
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text)

	return t, err == nil
}

// families are the types that rules compare, by the prefix of the operator.
var families = []struct {
	prefix, constant string
	order            func(a, b []byte) (int, bool)
}{
	{prefix: "String", constant: "STRING", order: orderTexts},
	{prefix: "Numeric", constant: "NUMBER", order: orderNumbers},
	{prefix: "Timestamp", constant: "TIMESTAMP", order: orderTimes},
	{prefix: "Boolean", constant: "BOOLEAN", order: orderBooleans},
}

var relations = []struct {
	suffix  string
	accepts func(order int) bool
}{
	{suffix: "Equals", accepts: func(o int) bool { return o == 0 }},
	{suffix: "LessThan", accepts: func(o int) bool { return o < 0 }},
	{suffix: "LessThanEquals", accepts: func(o int) bool { return o <= 0 }},
	{suffix: "GreaterThan", accepts: func(o int) bool { return o > 0 }},
	{suffix: "GreaterThanEquals", accepts: func(o int) bool { return o >= 0 }},
}

var tests = map[string]func(v []byte) bool{
	"IsNull":      func(v []byte) bool { return rawjson.KindOf(v) == rawjson.Null },
	"IsString":    func(v []byte) bool { return rawjson.KindOf(v) == rawjson.String },
	"IsNumeric":   func(v []byte) bool { return rawjson.KindOf(v) == rawjson.Number },
	"IsBoolean":   func(v []byte) bool { return rawjson.KindOf(v) == rawjson.Bool },
	"IsTimestamp": func(v []byte) bool { _, ok := instant(v); return ok },
}

func (b *builder) choice(s *State, o *object) {
	if o.has("Default") {
		s.Default = b.target(s, o, "Default")
	}

	v, _ := o.take("Choices")
	if rawjson.KindOf(v) != rawjson.Array || rawjson.Len(v) == 0 {
		b.fault(CodeSchema, o.at+"/Choices", "the field 'Choices' must be an array with at least one rule")
		return
	}

	for c, i := rawjson.Walk(v), 0; c.Next(); i++ {
		r := b.object(c.Value, fmt.Sprintf("%s/Choices[%d]", o.at, i))
		rule := Rule{Condition: b.condition(r, true, 0)}
		rule.Next = b.target(s, r, "Next")
		s.Choices = append(s.Choices, rule)
	}
}

// maxRuleDepth bounds And, Or and Not inside each other.
const maxRuleDepth = 32

// condition compiles one rule: And, Or, Not, or Variable with one operator.
func (b *builder) condition(o *object, top bool, depth int) Condition {
	if depth > maxRuleDepth {
		b.fault(CodeDepth, o.at, "choice rules nest more than %d deep", maxRuleDepth)
		return nil
	}

	var operator string
	var value []byte
	count := 0
	for c := rawjson.Walk(o.raw); c.Next(); {
		switch name, _ := rawjson.Text(c.Key); name {
		case "Variable", "Comment":
		case "Next":
			if !top {
				b.fault(CodeSchema, o.at+"/Next", "the field 'Next' is only allowed in a top-level rule")
			}
		default:
			operator, value = name, c.Value
			count++
		}
	}

	if count != 1 {
		b.fault(CodeSchema, o.at, "a choice rule must have exactly one comparison operator")
		return nil
	}

	at := o.at + "/" + operator
	switch operator {
	case "And", "Or":
		return b.junction(operator, value, at, depth)
	case "Not":
		return not{b.condition(b.object(value, at), false, depth+1)}
	}

	if reason := refusals[operator]; reason != "" {
		b.fault(CodeSchema, at, "%s", reason)
		return nil
	}

	if !o.has("Variable") {
		b.fault(CodeSchema, o.at, "the field 'Variable' is required")
		return nil
	}

	return b.test(operator, o.path("Variable"), value, at)
}

func (b *builder) junction(operator string, value []byte, at string, depth int) Condition {
	if rawjson.KindOf(value) != rawjson.Array || rawjson.Len(value) == 0 {
		b.fault(CodeSchema, at, "the value for the field '%s' must be an array with at least one rule", operator)
		return nil
	}

	var all []Condition
	for c, i := rawjson.Walk(value), 0; c.Next(); i++ {
		all = append(all, b.condition(b.object(c.Value, fmt.Sprintf("%s[%d]", at, i)), false, depth+1))
	}

	if operator == "And" {
		return allOf(all)
	}

	return anyOf(all)
}

func (b *builder) test(operator string, variable *jsonpath.Path, value []byte, at string) Condition {
	if strings.HasPrefix(operator, "Is") {
		if rawjson.KindOf(value) != rawjson.Bool {
			b.fault(CodeSchema, at, "the value for the field '%s' must be a BOOLEAN", operator)
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
			b.fault(CodeSchema, at, "the value for the field 'StringMatches' must be a STRING")
		}

		return matches{variable, cut(pattern)}
	}

	name, byPath := strings.CutSuffix(operator, "Path")
	for _, family := range families {
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
					b.fault(CodeSchema, at, "the value for the field '%s' must be a valid JSONPath: %v", operator, err)
				}

				return c
			}

			c.with = rawjson.AppendCompact(nil, value)
			if _, ok := family.order(c.with, c.with); !ok {
				b.fault(CodeSchema, at, "the value for the field '%s' must be a %s", operator, family.constant)
			}

			return c
		}
	}
	b.fault(CodeSchema, at, "'%s' is not a comparison operator", operator)

	return nil
}
