package expression

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ratchet/embedded/internal/attr"
)

// match evaluates a condition against an item.
func (n *node) match(item attr.Item) bool {
	switch n.op {
	case opAnd:
		return n.args[0].match(item) && n.args[1].match(item)
	case opOr:
		return n.args[0].match(item) || n.args[1].match(item)
	case opNot:
		return !n.args[0].match(item)
	case opCall:
		return n.matchCall(item)
	}

	left, ok := n.args[0].operand(item)
	switch n.op {
	// <> is the only comparison that is true for a missing attribute.
	case opNotEqual:
		right, found := n.args[1].operand(item)
		return !ok || !found || !attr.Equal(left, right)
	case opIn:
		return ok && slices.ContainsFunc(n.args[1:], func(a *node) bool {
			v, found := a.operand(item)
			return found && attr.Equal(left, v)
		})
	}

	if !ok {
		return false
	}

	right, ok := n.args[1].operand(item)
	if !ok {
		return false
	}

	if n.op == opEqual {
		return attr.Equal(left, right)
	}

	// Values of different types have no order, and then no comparison but <> is true.
	order, ok := attr.Compare(left, right)
	if !ok {
		return false
	}

	switch n.op {
	case opLess:
		return order < 0
	case opLessEqual:
		return order <= 0
	case opGreater:
		return order > 0
	case opGreaterEqual:
		return order >= 0
	default: // opBetween
		hi, found := n.args[2].operand(item)
		upper, ok := attr.Compare(left, hi)
		return order >= 0 && found && ok && upper <= 0
	}
}

// operand evaluates a path, a value or size(). ok is false if the item has no such attribute,
// or one without a size.
func (n *node) operand(item attr.Item) (v attr.Value, ok bool) {
	switch n.op {
	case opPath:
		return n.path.Lookup(item)
	case opValue:
		return n.value, true
	default:
		v, ok := n.args[0].operand(item)
		if !ok {
			return v, false
		}

		return size(v)
	}
}

// size is the function size: the UTF-16 code units of a string, the bytes of a binary, the
// elements of a set, list or map.
func size(v attr.Value) (attr.Value, bool) {
	n := 0
	switch v.Kind {
	case attr.S:
		n = utf16Length(v.Str)
	case attr.B:
		n = len(v.Str)
	case attr.SS, attr.NS, attr.BS:
		n = len(v.Set())
	case attr.L:
		n = len(v.List())
	case attr.M:
		n = len(v.Map)
	default:
		return attr.Value{}, false
	}

	return integer(n), true
}

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		// A character above U+FFFF is two code units.
		if n++; r >= 1<<16 && r <= utf8.MaxRune {
			n++
		}
	}

	return n
}

func (n *node) matchCall(item attr.Item) bool {
	v, ok := n.args[0].operand(item)
	switch functionOf(n.text) {
	case fnAttributeExists:
		return ok
	case fnAttributeNotExists:
		return !ok
	// The argument is a value: see checkTypeName.
	case fnAttributeType:
		return ok && v.Kind == attr.KindOf(n.args[1].value.Str)
	}

	if !ok {
		return false
	}

	w, ok := n.args[1].operand(item)
	if !ok {
		return false
	}

	if functionOf(n.text) == fnContains {
		return contains(v, w)
	}

	return v.Kind == w.Kind && (v.Kind == attr.S || v.Kind == attr.B) && strings.HasPrefix(v.Str, w.Str)
}

// contains is the function contains: whether w is a part of the string or binary v, a member
// of the set v, or an element of the list v.
func contains(v, w attr.Value) bool {
	switch v.Kind {
	case attr.S, attr.B:
		return w.Kind == v.Kind && strings.Contains(v.Str, w.Str)
	case attr.SS:
		return w.Kind == attr.S && slices.Contains(v.Set(), w.Str)
	case attr.NS:
		return w.Kind == attr.N && slices.Contains(v.Set(), w.Str)
	case attr.BS:
		return w.Kind == attr.B && slices.Contains(v.Set(), w.Str)
	case attr.L:
		return slices.ContainsFunc(v.List(), func(e attr.Value) bool { return attr.Equal(e, w) })
	default:
		return false
	}
}
