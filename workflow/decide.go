package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Decision is the result of [Definition.Decide].
type Decision struct {
	// To is where the order goes, "" if it stays.
	To State
	// Unmet holds, for each transition of the event from the state, its first guard that
	// does not hold. It is empty if there is no such transition.
	Unmet []Guard
}

// Decide returns where the event leads an order with the data. The data and the request
// are as in [Guard.Holds], and so are the errors.
func (d *Definition) Decide(from State, event Event, order, request map[string]any) (Decision, error) {
	var decision Decision
	for _, t := range d.Choices(from, event) {
		unmet, err := firstUnmet(t.Guards, order, request)
		if err != nil {
			return Decision{}, fmt.Errorf("event %s from %s: %w", event, from, err)
		}

		// The guards of the choices exclude each other, so no other one can hold.
		if unmet == nil {
			return Decision{To: t.To}, nil
		}

		decision.Unmet = append(decision.Unmet, *unmet)
	}

	return decision, nil
}

// firstUnmet returns the first guard that does not hold, nil if all hold.
func firstUnmet(guards []Guard, order, request map[string]any) (*Guard, error) {
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

// Holds evaluates the guard on an order's data as DynamoDB does. Maps are map[string]any,
// lists []any, numbers any of Go's or json.Number, and nil is a null. A comparison with a
// missing attribute is false, except <>. Values of different types are unequal and have no
// order. The request holds the values that guards name in it; a missing one or one of a
// wrong type is an error.
func (g Guard) Holds(order, request map[string]any) (bool, error) {
	left, found := lookUp(order, g.Attribute)
	switch g.Op {
	case opExists:
		return found, nil
	case opMissing:
		return !found, nil
	case opIn:
		list, _ := g.Value.([]any)
		for _, v := range list {
			if found && equal(left, v) {
				return true, nil
			}
		}

		return false, nil
	}

	var right any
	otherFound := true
	if g.Other != "" {
		right, otherFound = lookUp(order, g.Other)
	} else {
		var err error
		if right, err = g.operand(request); err != nil {
			return false, err
		}
	}

	// As in DynamoDB: a missing attribute is unequal to everything and has no order.
	if !found || !otherFound {
		return g.Op == opNotEqual, nil
	}

	return g.Op.compares(left, right), nil
}

// compares reports whether a comparison of two values holds.
func (op Op) compares(left, right any) bool {
	switch op {
	case opEqual:
		return equal(left, right)
	case opNotEqual:
		return !equal(left, right)
	}

	// Only strings and numbers have an order.
	sign, ordered := compare(left, right)
	if !ordered {
		return false
	}

	switch op {
	case opLess:
		return sign < 0
	case opAtMost:
		return sign <= 0
	case opMore:
		return sign > 0
	}

	return sign >= 0
}

// lookUp finds an attribute by its path, or its size.
func lookUp(order map[string]any, path string) (any, bool) {
	inner, sized := strings.CutPrefix(strings.TrimSuffix(path, ")"), "size(")

	var at any = order
	// A path like items[0].sku becomes items, 0] and sku: an index keeps its bracket.
	for _, part := range strings.FieldsFunc(inner, func(r rune) bool { return r == '.' || r == '[' }) {
		var found bool
		if at, found = child(at, part); !found {
			return nil, false
		}
	}

	if !sized {
		return at, true
	}

	return size(at)
}

// child returns a member of a map, or an element of a list if part is an index like "0]".
func child(of any, part string) (any, bool) {
	index, isIndex := strings.CutSuffix(part, "]")
	if !isIndex {
		m, _ := of.(map[string]any)
		v, found := m[part]

		return v, found
	}

	list, _ := of.([]any)

	i, err := strconv.Atoi(index)
	// A path has no minus, so an index is never negative.
	if err != nil || i >= len(list) {
		return nil, false
	}

	return list[i], true
}

// size returns what DynamoDB's size() does. Numbers and truth values have no size.
func size(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		// DynamoDB counts the code units of UTF-16, not the bytes.
		return int64(len(utf16.Encode([]rune(v)))), true
	case []byte:
		return int64(len(v)), true
	case []any:
		return int64(len(v)), true
	case map[string]any:
		return int64(len(v)), true
	}

	return nil, false
}

func equal(a, b any) bool {
	// Strings and numbers. Everything else is unequal here unless it is a truth value or null.
	if sign, ordered := compare(a, b); ordered {
		return sign == 0
	}

	x, isTruth := a.(bool)
	y, isTruth2 := b.(bool)
	if isTruth || isTruth2 {
		return isTruth && isTruth2 && x == y
	}

	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}

	return a == nil && b == nil
}

// compare compares two strings or two numbers. ordered is false for other types.
func compare(a, b any) (sign int, ordered bool) {
	if x, ok := a.(string); ok {
		// A string and a value of another type have no order, so DynamoDB's condition is false.
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

// number returns a number of any type without rounding.
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
		// nil for NaN and the infinities, which DynamoDB does not have.
		return r, r != nil
	case json.Number:
		// DynamoDB's numbers have 38 digits and an exponent of up to three digits.
		if len(v) > 200 {
			return nil, false
		}

		return new(big.Rat).SetString(v.String())
	}

	return nil, false
}
