package rawjson

import (
	"maps"
	"slices"
	"strconv"
)

// AppendCanonical appends a text that two values share if and only if they are the same JSON value, as in
// Equal. If members of an object have equal names, the last one counts.
func AppendCanonical(dst, v []byte) []byte {
	switch KindOf(v) {
	case Number:
		// 1, 1.0 and 10e-1 have the same digits and the same point.
		d := parseDecimal(v)
		if d.neg {
			dst = append(dst, '-')
		}

		return strconv.AppendInt(append(append(dst, d.digits...), 'e'), int64(d.point), 10)
	case String:
		s, _ := Text(v)
		return AppendText(dst, s)
	case Array:
		dst = append(dst, '[')
		for c := Walk(v); c.Next(); {
			// The comma behind the last element does no harm: the text is only compared.
			dst = append(AppendCanonical(dst, c.Value), ',')
		}

		return append(dst, ']')
	case Object:
		return appendCanonicalObject(dst, v)
	default:
		return append(dst, Trim(v)...)
	}
}

func appendCanonicalObject(dst, v []byte) []byte {
	all := members(v)

	dst = append(dst, '{')
	for _, name := range slices.Sorted(maps.Keys(all)) {
		dst = append(AppendCanonical(append(AppendText(dst, name), ':'), all[name]), ',')
	}

	return append(dst, '}')
}

// members returns the members of an object by name. Of equal names the last one counts.
func members(object []byte) map[string][]byte {
	all := map[string][]byte{}
	for c := Walk(object); c.Next(); {
		name, _ := Text(c.Key)
		all[name] = c.Value
	}

	return all
}
