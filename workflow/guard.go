package workflow

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Op is the operation of a [Guard]: one of = <> < <= > >= in exists missing. DynamoDB
// has the same operations.
type Op string

const (
	opEqual    Op = "="
	opNotEqual Op = "<>"
	opLess     Op = "<"
	opAtMost   Op = "<="
	opMore     Op = ">"
	opAtLeast  Op = ">="
	opIn       Op = "in"
	opExists   Op = "exists"
	opMissing  Op = "missing"
)

// maxIn is how many operands DynamoDB's IN takes.
const maxIn = 100

// Guard is a condition on an order's data under which a transition is allowed. The
// guards of a transition must all hold. A guard can be a part of the conditional
// write that makes the transition, and means the same there as in Go; what DynamoDB
// cannot express (calculating, clocks, other items) is refused by [New].
type Guard struct {
	// Name says what a refusal says, like "total-covered".
	Name string
	// Attribute is the path of an attribute in the order, "payment.captured" or
	// "items[0].sku", or the size of one, "size(items)".
	Attribute string
	Op        Op
	// One of the next three is the operand; exists and missing have none.
	//
	// Value is a string, a whole number (int64 within a Definition) or a truth value;
	// for "in" a list ([]any) of 1 to 100 strings or whole numbers.
	Value any
	// Other is the path of another attribute of the same order, or the size of one.
	Other string
	// Request names a value that comes with the request, like the beginning of the
	// return window: a guard has no clock.
	Request string
}

var (
	guardPath = regexp.MustCompile(`^(size\()?[A-Za-z_][A-Za-z0-9_]*(\[[0-9]{1,4}\]|\.[A-Za-z_][A-Za-z0-9_]*){0,30}(\))?$`)
	pathPart  = regexp.MustCompile(`\.|\[[0-9]+\]`)
)

// checkPath refuses what is not a path, and says why it cannot be one.
func checkPath(path string) error {
	m := guardPath.FindStringSubmatch(path)
	switch {
	case m != nil && (m[1] == "") == (m[3] == ""):
		return nil
	case strings.ContainsAny(path, "+-*/%"):
		return fmt.Errorf("%q calculates, which a DynamoDB condition cannot; keep the result as an attribute", path)
	case strings.Contains(path, "("):
		return fmt.Errorf("%q: of DynamoDB's functions only size(path) is a value", path)
	}

	return fmt.Errorf("%q is not the path of an attribute, like payment.captured, items[0].sku or size(items)", path)
}

// Normalize returns the guard with its value in one of the types that Value documents.
func (g Guard) Normalize() (Guard, error) {
	fail := func(format string, args ...any) (Guard, error) {
		return g, fmt.Errorf("guard %s: %w", g.Name, fmt.Errorf(format, args...))
	}

	if !name.MatchString(g.Name) {
		return g, fmt.Errorf("guard %q: names match %s", g.Name, name)
	}

	if err := checkPath(g.Attribute); err != nil {
		return fail("%w", err)
	}

	operands := 0
	for _, there := range []bool{g.Value != nil, g.Other != "", g.Request != ""} {
		if there {
			operands++
		}
	}

	switch g.Op {
	case opExists, opMissing:
		if operands != 0 {
			return fail("%s takes no operand", g.Op)
		}

		if strings.HasPrefix(g.Attribute, "size(") {
			return fail("%s asks for an attribute; a size is not one", g.Op)
		}

		return g, nil
	case opIn:
		return g.normalizeList()
	case opEqual, opNotEqual, opLess, opAtMost, opMore, opAtLeast:
	default:
		return fail("operation %q is not one of = <> < <= > >= in exists missing", g.Op)
	}

	if operands != 1 {
		return fail("%s takes one operand: a value, an attribute or a name in the request", g.Op)
	}

	if g.Other != "" {
		if err := checkPath(g.Other); err != nil {
			return fail("%w", err)
		}

		if g.Other == g.Attribute {
			return fail("%s is compared with itself, which DynamoDB refuses", g.Attribute)
		}
	}

	if g.Request != "" && !name.MatchString(g.Request) {
		return fail("request value %q: names match %s", g.Request, name)
	}

	if g.Value != nil {
		v, err := constant(g.Value)
		if err != nil {
			return fail("%w", err)
		}

		if _, truth := v.(bool); truth && g.Op != opEqual && g.Op != opNotEqual {
			return fail("truth values have no order for %s", g.Op)
		}
		g.Value = v
	}

	return g, nil
}

func (g Guard) normalizeList() (Guard, error) {
	list, ok := g.Value.([]any)
	if !ok || g.Other != "" || g.Request != "" || len(list) == 0 || len(list) > maxIn {
		return g, fmt.Errorf("guard %s: in takes a list of 1 to %d values", g.Name, maxIn)
	}

	list = slices.Clone(list)
	for i, v := range list {
		v, err := constant(v)
		if err != nil {
			return g, fmt.Errorf("guard %s: %w", g.Name, err)
		}

		if _, truth := v.(bool); truth {
			return g, fmt.Errorf("guard %s: in takes strings and whole numbers", g.Name)
		}
		list[i] = v
	}
	g.Value = list

	return g, nil
}

// constant brings a value into one of the guards' three types.
func constant(v any) (any, error) {
	switch v := v.(type) {
	case string, bool, int64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v), nil
		}
		return nil, fmt.Errorf("%v: numbers are whole; amounts are in minor units", v)
	case json.Number:
		i, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%v: numbers are whole; amounts are in minor units", v)
		}

		return i, nil
	}

	return nil, fmt.Errorf("%v (%T): values are strings, whole numbers and truth values", v, v)
}

// String says the guard as a person would write it.
func (g Guard) String() string {
	switch {
	case g.Op == opExists || g.Op == opMissing:
		return fmt.Sprintf("%s %s", g.Attribute, g.Op)
	case g.Other != "":
		return fmt.Sprintf("%s %s %s", g.Attribute, g.Op, g.Other)
	case g.Request != "":
		return fmt.Sprintf("%s %s request %s", g.Attribute, g.Op, g.Request)
	}

	text, err := json.Marshal(g.Value)
	if err != nil {
		return fmt.Sprintf("%s %s %v", g.Attribute, g.Op, g.Value)
	}

	return fmt.Sprintf("%s %s %s", g.Attribute, g.Op, text)
}

// Condition is a part of a DynamoDB ConditionExpression with its placeholders. The
// values are strings, int64 and bool; the caller marshals them.
type Condition struct {
	Expression string
	Names      map[string]string
	Values     map[string]any
}

// RenderGuards writes guards as one condition; without guards it is empty. The
// prefix, letters and digits, begins every placeholder after # and :, so that the
// condition fits beside others. The request holds what the guards name in it; a
// missing or wrong one is an error.
func RenderGuards(guards []Guard, prefix string, request map[string]any) (Condition, error) {
	c := Condition{Names: map[string]string{}, Values: map[string]any{}}
	names := map[string]string{}
	var parts []string
	for _, g := range guards {
		path := func(p string) string { return c.path(p, prefix, names) }
		value := func(v any) string {
			key := fmt.Sprintf(":%s%d", prefix, len(c.Values))
			c.Values[key] = v
			return key
		}
		switch {
		case g.Op == opExists:
			parts = append(parts, "attribute_exists("+path(g.Attribute)+")")
		case g.Op == opMissing:
			parts = append(parts, "attribute_not_exists("+path(g.Attribute)+")")
		case g.Op == opIn:
			list, _ := g.Value.([]any)
			keys := make([]string, len(list))
			for i, v := range list {
				keys[i] = value(v)
			}
			parts = append(parts, path(g.Attribute)+" IN ("+strings.Join(keys, ", ")+")")
		case g.Other != "":
			parts = append(parts, path(g.Attribute)+" "+string(g.Op)+" "+path(g.Other))
		default:
			v, err := g.operand(request)
			if err != nil {
				return Condition{}, err
			}
			parts = append(parts, path(g.Attribute)+" "+string(g.Op)+" "+value(v))
		}
	}
	c.Expression = strings.Join(parts, " AND ")

	return c, nil
}

// operand is the constant, or the request's value in one of the constants' types.
func (g Guard) operand(request map[string]any) (any, error) {
	if g.Request == "" {
		return g.Value, nil
	}

	v, given := request[g.Request]
	if !given {
		return nil, fmt.Errorf("guard %s: the request does not say %s", g.Name, g.Request)
	}

	v, err := constant(v)
	if err != nil {
		return nil, fmt.Errorf("guard %s: %s: %w", g.Name, g.Request, err)
	}

	if _, truth := v.(bool); truth && g.Op != opEqual && g.Op != opNotEqual {
		return nil, fmt.Errorf("guard %s: %s: truth values have no order for %s", g.Name, g.Request, g.Op)
	}

	return v, nil
}

// path replaces every name of a path by a placeholder, as any may be a reserved word.
func (c *Condition) path(p, prefix string, names map[string]string) string {
	inner, sized := strings.CutPrefix(strings.TrimSuffix(p, ")"), "size(")
	var b strings.Builder
	for inner != "" {
		end := len(inner)
		if at := pathPart.FindStringIndex(inner); at != nil {
			end = at[0]
		}

		if n := inner[:end]; n != "" {
			if names[n] == "" {
				names[n] = fmt.Sprintf("#%s%d", prefix, len(names))
				c.Names[names[n]] = n
			}
			b.WriteString(names[n])
		}

		inner = inner[end:]
		if at := pathPart.FindStringIndex(inner); at != nil {
			b.WriteString(inner[:at[1]])
			inner = inner[at[1]:]
		}
	}

	if sized {
		return "size(" + b.String() + ")"
	}

	return b.String()
}
