package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Holds evaluates the guard on an order's data as DynamoDB would: maps are
// map[string]any, lists []any, numbers any of Go's or json.Number, and nil is a
// null. A comparison with an attribute that is not there is false, except <>; values
// of different types are unequal and in no order. The error says that the request
// lacks what the guard needs.
func (g Guard) Holds(order, request map[string]any) (bool, error) {
	left, there := lookUp(order, g.Attribute)
	switch g.Op {
	case opExists:
		return there, nil
	case opMissing:
		return !there, nil
	case opIn:
		list, _ := g.Value.([]any)
		for _, v := range list {
			if there && equal(left, v) {
				return true, nil
			}
		}

		return false, nil
	}

	var right any
	known := true
	if g.Other != "" {
		right, known = lookUp(order, g.Other)
	} else {
		var err error
		if right, err = g.operand(request); err != nil {
			return false, err
		}
	}

	if !there || !known {
		return g.Op == opNotEqual, nil
	}

	switch g.Op {
	case opEqual:
		return equal(left, right), nil
	case opNotEqual:
		return !equal(left, right), nil
	}

	order3, comparable := compare(left, right)
	if !comparable {
		return false, nil
	}

	switch g.Op {
	case opLess:
		return order3 < 0, nil
	case opAtMost:
		return order3 <= 0, nil
	case opMore:
		return order3 > 0, nil
	default:
		return order3 >= 0, nil
	}
}

// lookUp finds an attribute by its path, or its size.
func lookUp(order map[string]any, path string) (any, bool) {
	inner, sized := strings.CutPrefix(strings.TrimSuffix(path, ")"), "size(")
	var at any = order
	for _, part := range strings.FieldsFunc(inner, func(r rune) bool { return r == '.' || r == '[' }) {
		var there bool
		if index, isIndex := strings.CutSuffix(part, "]"); isIndex {
			list, _ := at.([]any)
			i, err := strconv.Atoi(index)
			if there = err == nil && i < len(list); there {
				at = list[i]
			}
		} else {
			m, _ := at.(map[string]any)
			at, there = m[part]
		}

		if !there {
			return nil, false
		}
	}

	if !sized {
		return at, true
	}

	switch v := at.(type) {
	case string:
		return int64(len(v)), true
	case []byte:
		return int64(len(v)), true
	case []any:
		return int64(len(v)), true
	case map[string]any:
		return int64(len(v)), true
	}

	return nil, false // numbers and truth values have no size
}

// number returns a number of any type exactly.
func number(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case *big.Rat:
		return v, true
	case int64:
		return new(big.Rat).SetInt64(v), true
	case int:
		return new(big.Rat).SetInt64(int64(v)), true
	case int32:
		return new(big.Rat).SetInt64(int64(v)), true
	case uint64:
		return new(big.Rat).SetUint64(v), true
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	case json.Number:
		if len(v) > 200 {
			return nil, false // DynamoDB's have 38 digits and an exponent of three
		}
		return new(big.Rat).SetString(v.String())
	}

	return nil, false
}

func equal(a, b any) bool {
	if order3, comparable := compare(a, b); comparable {
		return order3 == 0
	}

	x, isTruth := a.(bool)
	y, isTruth2 := b.(bool)
	if isTruth || isTruth2 {
		return isTruth && isTruth2 && x == y
	}

	if a == nil || b == nil {
		return a == nil && b == nil
	}

	return false
}

// compare orders two strings or two numbers.
func compare(a, b any) (int, bool) {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return cmp.Compare(x, y), ok
	}

	x, ok := number(a)
	y, ok2 := number(b)
	if !ok || !ok2 {
		return 0, false
	}

	return x.Cmp(y), true
}

// unmet returns the first guard that does not hold, nil when all do.
func unmet(guards []Guard, order, request map[string]any) (*Guard, error) {
	for _, g := range guards {
		holds, err := g.Holds(order, request)
		if err != nil {
			return nil, err
		}

		if !holds {
			return &g, nil
		}
	}

	return nil, nil
}

// Decision is what [Definition.Decide] finds.
type Decision struct {
	// To is where the order goes, "" when it stays.
	To State
	// Unmet holds, for every transition of the event from the state, the guard that
	// stood in its way; it is empty when there is no such transition at all.
	Unmet []Guard
}

// Decide tells where the event leads an order with the data. The request holds the
// values that guards name in it. The error says that one is missing or of a wrong
// type.
func (d *Definition) Decide(from State, event Event, order, request map[string]any) (Decision, error) {
	var decision Decision
	for _, t := range d.Choices(from, event) {
		g, err := unmet(t.Guards, order, request)
		if err != nil {
			return Decision{}, fmt.Errorf("event %s from %s: %w", event, from, err)
		}

		if g == nil {
			return Decision{To: t.To}, nil
		}
		decision.Unmet = append(decision.Unmet, *g)
	}

	return decision, nil
}
