package jsonpath

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// condition decides whether a filter accepts a candidate.
type condition interface {
	holds(candidate, root []byte) bool
}

type (
	anyOf []condition
	allOf []condition
	not   struct{ condition }
	// exists holds if the operand's path matches something.
	exists struct{ operand operand }
	// compare compares two operands. Operands of different types, and those that match
	// nothing, are only unequal.
	compare struct {
		left, right operand
		operator    string
	}
)

// operand is a literal, or a path under the candidate (@) or the root ($).
type operand struct {
	literal []byte
	path    *Path
	root    bool
}

func (c anyOf) holds(v, root []byte) bool {
	for _, each := range c {
		if each.holds(v, root) {
			return true
		}
	}

	return false
}

func (c allOf) holds(v, root []byte) bool {
	for _, each := range c {
		if !each.holds(v, root) {
			return false
		}
	}

	return true
}

func (c not) holds(v, root []byte) bool { return !c.condition.holds(v, root) }

func (c exists) holds(v, root []byte) bool {
	_, ok := c.operand.value(v, root)
	return ok
}

func (c compare) holds(v, root []byte) bool {
	left, okLeft := c.left.value(v, root)
	right, okRight := c.right.value(v, root)
	if !okLeft || !okRight {
		return c.operator == "!=" && okLeft != okRight
	}

	switch c.operator {
	case "==":
		return rawjson.Equal(left, right)
	case "!=":
		return !rawjson.Equal(left, right)
	case "in":
		for e := rawjson.Walk(right); e.Next(); {
			if rawjson.Equal(left, e.Value) {
				return true
			}
		}

		return false
	}

	kind := rawjson.KindOf(left)
	if kind != rawjson.KindOf(right) {
		return false
	}

	order := 0
	switch kind {
	case rawjson.Number:
		order = rawjson.CompareNumbers(left, right)
	case rawjson.String:
		x, _ := rawjson.Text(left)
		y, _ := rawjson.Text(right)
		order = strings.Compare(x, y)
	default:
		return false
	}

	switch c.operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

// value returns the operand's value. Of several matches the first counts.
func (o operand) value(v, root []byte) ([]byte, bool) {
	if o.path == nil {
		return o.literal, true
	}

	if o.root {
		v = root
	}

	if !o.path.many {
		return follow(v, o.path.plain)
	}

	var first []byte
	match(v, root, o.path.steps, func(m []byte) {
		if first == nil {
			first = m
		}
	})

	return first, first != nil
}
