package rawjson

// Merge returns an object with the members of both objects, those of a first. A member of b takes the place of a's
// member of the same name.
func Merge(a, b []byte) []byte {
	out := append(make([]byte, 0, len(a)+len(b)+1), '{')
	add := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}

		out = append(append(append(out, key...), ':'), value...)
	}

	before, after := members(a), members(b)

	for c := Walk(a); c.Next(); {
		name, _ := Text(c.Key)

		value, replaced := after[name]
		if !replaced {
			value = c.Value
		}
		add(c.Key, value)
	}

	for c := Walk(b); c.Next(); {
		if name, _ := Text(c.Key); before[name] == nil {
			add(c.Key, c.Value)
		}
	}

	return append(out, '}')
}
