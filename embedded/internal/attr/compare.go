package attr

import (
	"slices"
	"strings"
)

// Equal reports whether two values are the same data. 1 equals 1.0, and sets with the
// same members are equal.
func Equal(a, b Value) bool {
	if a.Kind != b.Kind {
		return false
	}

	switch a.Kind {
	// Equal numbers have equal texts, because they are canonical.
	case S, N, B:
		return a.Str == b.Str
	case BOOL:
		return a.Bool == b.Bool
	case M:
		return EqualItems(a.Map, b.Map)
	case L:
		return slices.EqualFunc(a.List(), b.List(), Equal)
	case SS, NS, BS:
		return slices.Equal(a.Set(), b.Set()) // the members are sorted
	default:
		return true
	}
}

// EqualItems reports whether two items hold the same names and values.
func EqualItems(a, b Item) bool {
	if len(a) != len(b) {
		return false
	}

	for name, v := range a {
		if w, ok := b[name]; !ok || !Equal(v, w) {
			return false
		}
	}

	return true
}

// Compare orders two values of the same kind: strings by their UTF-8 bytes, numbers by
// value, binary by unsigned bytes. ok is false when the kinds differ or have no order.
func Compare(a, b Value) (order int, ok bool) {
	if a.Kind != b.Kind {
		return 0, false
	}

	switch a.Kind {
	case S, B:
		return strings.Compare(a.Str, b.Str), true
	case N:
		return compareNumber(a.Str, b.Str), true
	default:
		return 0, false
	}
}
