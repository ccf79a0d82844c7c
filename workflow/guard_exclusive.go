package workflow

import (
	"math/big"
	"slices"
	"strings"
)

// exclusive reports whether two lists of guards can be shown never to hold at once. It compares pairs of
// guards only. Two guards that it cannot show to contradict count as compatible.
func exclusive(a, b []Guard) bool {
	return slices.ContainsFunc(a, func(g Guard) bool {
		return slices.ContainsFunc(b, func(h Guard) bool { return contradict(g, h) || contradict(h, g) })
	})
}

// outcomes has, for each operation, the results of a comparison for which it holds, as
// bits: 1 less, 2 equal, 4 more.
var outcomes = map[Op]int{
	opLess:     1,
	opEqual:    2,
	opMore:     4,
	opAtMost:   1 | 2,
	opAtLeast:  2 | 4,
	opNotEqual: 1 | 4,
}

// contradict reports whether g and h cannot both hold.
func contradict(g, h Guard) bool {
	if g.Op == opMissing {
		// A comparison with a missing attribute holds for <> only, and a missing attribute
		// has no parts.
		compared := within(h.Attribute, g.Attribute) || within(h.Other, g.Attribute)
		return compared && h.Op != opMissing && h.Op != opNotEqual
	}

	// An attribute that exists can still have any value.
	if g.Op == opExists || h.Op == opExists || h.Op == opMissing {
		return false
	}

	// h compares the same two attributes, with the sides exchanged.
	if g.Other != "" && g.Other == h.Attribute && g.Attribute == h.Other && g.Other != g.Attribute {
		h = h.swapped()
	}

	if g.Attribute != h.Attribute {
		return false
	}

	// Both compare the attribute with the same operand.
	if g.Other == h.Other && g.Request == h.Request && (g.Other != "" || g.Request != "") {
		return outcomes[g.Op]&outcomes[h.Op] == 0
	}

	// Operands that are not known here may be equal or not.
	if g.Other != "" || h.Other != "" || g.Request != "" || h.Request != "" {
		return false
	}

	return disjoint(g, h)
}

// within reports whether a path is the attribute, its size, or a part of it.
func within(path, attribute string) bool {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "size("), ")")
	rest, ok := strings.CutPrefix(path, attribute)

	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// swapped exchanges the sides of a comparison of two attributes.
func (g Guard) swapped() Guard {
	swapped := map[Op]Op{
		opLess:    opMore,
		opMore:    opLess,
		opAtMost:  opAtLeast,
		opAtLeast: opAtMost,
	}
	if op, ok := swapped[g.Op]; ok {
		g.Op = op
	}

	g.Attribute, g.Other = g.Other, g.Attribute

	return g
}

// disjoint reports whether no value satisfies both comparisons with constants. All values
// between two neighboring constants behave alike. Therefore it is enough to try each constant,
// the values just beside it, and a value of another type.
func disjoint(g, h Guard) bool {
	// Null is neither a string nor a number, and the empty string comes before all others.
	probes := []any{nil, ""}
	for _, c := range append(g.constants(), h.constants()...) {
		probes = append(probes, c)

		switch c := c.(type) {
		// Attributes may be fractions, although constants are whole.
		case int64:
			half := big.NewRat(1, 2)
			at := new(big.Rat).SetInt64(c)
			probes = append(probes, new(big.Rat).Sub(at, half), new(big.Rat).Add(at, half))
		case string:
			probes = append(probes, c+"\x00") // the next string after c
		}
	}

	return !slices.ContainsFunc(probes, func(v any) bool { return g.admits(v) && h.admits(v) })
}

// constants lists the constants that the guard compares with.
func (g Guard) constants() []any {
	if list, ok := g.Value.([]any); ok {
		return slices.Clone(list)
	}
	return []any{g.Value}
}

// admits reports whether an attribute with the value satisfies the guard.
func (g Guard) admits(v any) bool {
	g.Attribute = "v"
	holds, err := g.Holds(map[string]any{"v": v}, nil)

	return err == nil && holds
}
