package rawjson

// Distinct returns v without the members that a later member of the same name replaces. A value without
// such members is returned as it is.
func Distinct(v []byte) []byte {
	if KindOf(v) != Object {
		return v
	}

	all, count := members(v), 0
	for c := Walk(v); c.Next(); {
		count++
	}

	if count == len(all) {
		return v
	}

	// A member keeps the place where its name stands first, as in Java's LinkedHashMap.
	out := append(make([]byte, 0, len(v)), '{')
	for c := Walk(v); c.Next(); {
		name, _ := Text(c.Key)

		value, left := all[name]
		if !left {
			continue
		}
		delete(all, name)

		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, c.Key...), ':'), value...)
	}

	return append(out, '}')
}
