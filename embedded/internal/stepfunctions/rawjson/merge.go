package rawjson

// Merge returns an object with the members of both objects. A member
// of b replaces a's member of the same name.
func Merge(a, b []byte) []byte {
	out := append(make([]byte, 0, len(a)+len(b)+1), '{')
	add := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}

		out = append(append(append(out, key...), ':'), value...)
	}

	replaced := members(b)

	for c := Walk(a); c.Next(); {
		name, _ := Text(c.Key)
		if _, over := replaced[name]; !over {
			add(c.Key, c.Value)
		}
	}

	for c := Walk(b); c.Next(); {
		add(c.Key, c.Value)
	}

	return append(out, '}')
}
