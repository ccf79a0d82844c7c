package workflow

import (
	"math/big"
	"slices"
	"strings"
)

// exclusive reports whether the two lists can be shown never to hold at once. It
// looks at pairs of guards only; what it cannot show is taken to be possible.
func exclusive(a, b []Guard) bool {
	return slices.ContainsFunc(a, func(g Guard) bool {
		return slices.ContainsFunc(b, func(h Guard) bool { return contradict(g, h) || contradict(h, g) })
	})
}

// relations are the outcomes of a comparison (less, equal, more) with which an
// operation holds, as bits.
var relations = map[Op]int{opLess: 1, opEqual: 2, opMore: 4, opAtMost: 3, opAtLeast: 6, opNotEqual: 5}

// contradict reports whether g and h cannot both hold.
func contradict(g, h Guard) bool {
	if g.Op == opMissing {
		// What is missing compares with nothing but <>, and has no parts.
		return h.Op != opMissing && h.Op != opNotEqual && (within(h.Attribute, g.Attribute) || within(h.Other, g.Attribute))
	}

	if g.Op == opExists || h.Op == opExists || h.Op == opMissing {
		return false
	}

	if g.Other != "" && g.Other == h.Attribute && g.Attribute == h.Other && g.Other != g.Attribute {
		h = h.turned()
	}

	if g.Attribute != h.Attribute {
		return false
	}

	if g.Other == h.Other && g.Request == h.Request && (g.Other != "" || g.Request != "") {
		return relations[g.Op]&relations[h.Op] == 0
	}

	if g.Other != "" || h.Other != "" || g.Request != "" || h.Request != "" {
		return false
	}

	return apart(g, h)
}

// within reports whether path is the attribute, its size, or a part of it.
func within(path, attribute string) bool {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "size("), ")")
	rest, ok := strings.CutPrefix(path, attribute)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// turned exchanges the sides of a comparison of two attributes.
func (g Guard) turned() Guard {
	flipped := map[Op]Op{opLess: opMore, opMore: opLess, opAtMost: opAtLeast, opAtLeast: opAtMost}
	if op, ok := flipped[g.Op]; ok {
		g.Op = op
	}
	g.Attribute, g.Other = g.Other, g.Attribute

	return g
}

// apart reports whether no single value satisfies both comparisons with constants.
// Between two neighbouring constants all values behave alike, so that it is enough
// to try each constant, something just beside it, and something of no type at all.
func apart(g, h Guard) bool {
	probes := []any{nil, ""}
	for _, c := range append(constants(g), constants(h)...) {
		probes = append(probes, c)
		switch c := c.(type) {
		case int64: // an attribute may be a fraction, though constants are whole
			half := big.NewRat(1, 2)
			at := new(big.Rat).SetInt64(c)
			probes = append(probes, new(big.Rat).Sub(at, half), new(big.Rat).Add(at, half))
		case string: // the next string there is
			probes = append(probes, c+"\x00")
		}
	}

	return !slices.ContainsFunc(probes, func(v any) bool { return g.admits(v) && h.admits(v) })
}

func constants(g Guard) []any {
	if l, ok := g.Value.([]any); ok {
		return l
	}
	return []any{g.Value}
}

// admits reports whether an attribute of the value satisfies the guard.
func (g Guard) admits(v any) bool {
	g.Attribute = "v"
	holds, err := g.Holds(map[string]any{"v": v}, nil)
	return err == nil && holds
}
