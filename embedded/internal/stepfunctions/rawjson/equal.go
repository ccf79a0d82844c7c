package rawjson

import (
	"bytes"
	"maps"
)

// Equal reports whether two values are the same JSON value. Numbers compare by value, and
// the order of members does not matter.
func Equal(a, b []byte) bool {
	kind := KindOf(a)
	if kind != KindOf(b) {
		return false
	}

	switch kind {
	case Number:
		return CompareNumbers(a, b) == 0
	case String:
		x, _ := Text(a)
		y, _ := Text(b)
		return x == y
	case Array:
		x, y := Walk(a), Walk(b)
		// Both walks must end together.
		for {
			mx, my := x.Next(), y.Next()
			if !mx || !my {
				return mx == my
			}

			if !Equal(x.Value, y.Value) {
				return false
			}
		}
	case Object:
		x, y := members(a), members(b)

		return len(x) == len(y) && maps.EqualFunc(x, y, Equal)
	default:
		return bytes.Equal(Trim(a), Trim(b))
	}
}
