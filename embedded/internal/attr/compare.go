package attr

import "strings"

// Equal reports whether two values are the same data. Sets have no order, numbers
// have one spelling.
func Equal(a, b Value) bool {
	if a.Kind != b.Kind {
		return false
	}

	switch a.Kind {
	case S, N, B:
		return a.Str == b.Str
	case BOOL:
		return a.Bool == b.Bool
	case M:
		return EqualItems(a.Map, b.Map)
	case L:
		if len(a.List) != len(b.List) {
			return false
		}

		for n := range a.List {
			if !Equal(a.List[n], b.List[n]) {
				return false
			}
		}

		return true
	case SS, NS, BS:
		return equalSets(a.Set, b.Set)
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

// equalSets compares members in place: sets are sorted.
func equalSets(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}

	for n := range a {
		if a[n] != b[n] {
			return false
		}
	}

	return true
}

// Compare orders two values of the same kind, where that kind has an order:
// strings by their UTF-8 bytes, numbers by value, binary by unsigned bytes. ok is
// false for any other pair.
func Compare(a, b Value) (order int, ok bool) {
	if a.Kind != b.Kind {
		return 0, false
	}

	switch a.Kind {
	case S, B:
		return strings.Compare(a.Str, b.Str), true
	case N:
		return CompareNumber(a.Str, b.Str), true
	default:
		return 0, false
	}
}
