package rawjson

import "bytes"

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
		if Len(a) != Len(b) {
			return false
		}

		for c := Walk(a); c.Next(); {
			name, _ := Text(c.Key)

			mine, _ := Member(a, name) // the last of equal names
			other, ok := Member(b, name)
			if !ok || !Equal(mine, other) {
				return false
			}
		}

		return true
	default:
		return bytes.Equal(Trim(a), Trim(b))
	}
}
