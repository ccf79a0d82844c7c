package jsonpath

import (
	"errors"
	"fmt"
	"strconv"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// list returns an array of the values.
func list(values [][]byte) []byte {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}

		out = append(out, v...)
	}

	return append(out, ']')
}

var errNoArray = errors.New("the first argument must be an array")

// elements returns the elements of an array argument.
func elements(s *Scope, v []byte) ([][]byte, error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, errNoArray
	}

	const size = 48 // bytes of a slice, and of the room that append leaves

	var out [][]byte
	for c := rawjson.Walk(v); s.Meter.make(size) && c.Next(); {
		out = append(out, c.Value)
	}

	return out, nil
}

func arrayPartition(s *Scope, _ *call, a [][]byte) ([]byte, error) {
	items, err := elements(s, a[0])
	if err != nil {
		return nil, err
	}

	size, err := whole(a[1], "chunk size")
	if err != nil || size < 1 {
		return nil, errors.New("the chunk size must be a positive integer")
	}

	var parts [][]byte
	for len(items) > 0 {
		n := len(items)
		if size < int64(n) {
			n = int(size)
		}

		const size = 64 // bytes of a part without its elements
		if !s.Meter.make(size) {
			break
		}

		parts, items = append(parts, list(items[:n])), items[n:]
	}

	return list(parts), nil
}

// contains reports whether an array has an element that equals v.
func (m *Meter) contains(array, v []byte) bool {
	for c := rawjson.Walk(array); c.Next() && m.spend(len(c.Value)+len(v)); {
		if rawjson.Equal(c.Value, v) {
			return true
		}
	}

	return false
}

func arrayContains(s *Scope, _ *call, a [][]byte) ([]byte, error) {
	if rawjson.KindOf(a[0]) != rawjson.Array {
		return nil, errNoArray
	}

	return strconv.AppendBool(nil, s.Meter.contains(a[0], a[1])), nil
}

func arrayRange(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	var n [3]int64
	for i, what := range []string{"first value", "last value", "increment"} {
		var err error
		if n[i], err = whole(a[i], what); err != nil {
			return nil, err
		}
	}

	first, last, by := n[0], n[1], n[2]
	if by == 0 {
		return nil, errors.New("the increment must not be 0")
	}

	out := []byte{'['}
	count := 0
	for v := first; by > 0 && v <= last || by < 0 && v >= last; v += by {
		if count++; count > maxRange {
			return nil, fmt.Errorf("the range has more than %d elements", maxRange)
		}

		if count > 1 {
			out = append(out, ',')
		}

		out = strconv.AppendInt(out, v, 10)
		// If the sum overflowed, the loop would begin again at the other end.
		if next := v + by; (next > v) != (by > 0) {
			break // v + by overflows
		}
	}

	return append(out, ']'), nil
}

func arrayGetItem(s *Scope, _ *call, a [][]byte) ([]byte, error) {
	items, err := elements(s, a[0])
	if err != nil {
		return nil, err
	}

	i, err := whole(a[1], "index")
	if err != nil {
		return nil, err
	}

	if i < 0 || i >= int64(len(items)) {
		return nil, fmt.Errorf("the index %d is outside the array of %d", i, len(items))
	}

	return items[i], nil
}

func arrayLength(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	if rawjson.KindOf(a[0]) != rawjson.Array {
		return nil, errNoArray
	}

	return strconv.AppendInt(nil, int64(rawjson.Len(a[0])), 10), nil
}

func arrayUnique(s *Scope, _ *call, a [][]byte) ([]byte, error) {
	items, err := elements(s, a[0])
	if err != nil {
		return nil, err
	}

	var unique [][]byte

	const size = 96 // bytes of an entry of the map

	seen := map[string]bool{}
	for _, item := range items {
		if !s.Meter.make(size + len(item)) {
			break
		}

		// One pass with canonical texts instead of a comparison of each pair.
		if same := string(rawjson.AppendCanonical(nil, item)); !seen[same] {
			seen[same] = true
			unique = append(unique, item)
		}
	}

	return list(unique), nil
}

func array(_ *Scope, _ *call, a [][]byte) ([]byte, error) { return list(a), nil }
