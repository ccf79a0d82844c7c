package jsonpath

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// condition decides whether a filter accepts a candidate.
type condition interface {
	holds(candidate []byte, r *search) bool
}

type (
	anyOf []condition
	allOf []condition
	not   struct{ condition }
	// exists holds if the operand's path matches something.
	exists struct{ operand operand }
	// compare compares two operands. Operands of different types are only unequal. The same holds if one
	// operand's path matches nothing.
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

func (c anyOf) holds(v []byte, r *search) bool {
	for _, each := range c {
		if each.holds(v, r) {
			return true
		}
	}

	return false
}

func (c allOf) holds(v []byte, r *search) bool {
	for _, each := range c {
		if !each.holds(v, r) {
			return false
		}
	}

	return true
}

func (c not) holds(v []byte, r *search) bool { return !c.condition.holds(v, r) }

func (c exists) holds(v []byte, r *search) bool {
	_, ok := c.operand.value(v, r)
	return ok
}

func (c compare) holds(v []byte, r *search) bool {
	left, okLeft := c.left.value(v, r)
	right, okRight := c.right.value(v, r)

	// Literals cost time, too. An error ends the search, whatever this candidate is.
	if !r.spend(len(left) + len(right)) {
		return false
	}

	if !okLeft || !okRight {
		// Two paths that match nothing are neither equal nor unequal.
		return c.operator == "!=" && okLeft != okRight
	}

	switch c.operator {
	case "==":
		return rawjson.Equal(left, right)
	case "!=":
		return !rawjson.Equal(left, right)
	case "in":
		return r.contains(right, left)
	}

	kind := rawjson.KindOf(left)
	// Only values of one type have an order.
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

// value returns the operand's value. If its path matches several places, the first one counts.
func (o operand) value(v []byte, r *search) ([]byte, bool) {
	if o.path == nil {
		return o.literal, true
	}

	if o.root {
		v = r.root
	}

	var first []byte
	r.match(v, o.path.steps, func(m []byte) {
		if first == nil {
			first = m
		}
	})

	return first, first != nil
}
