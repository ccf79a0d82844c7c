package rawjson

// Step is one step of a way into a document: a member's name, or an index.
type Step struct {
	Name    string
	Index   int
	IsIndex bool
}

// Set returns a copy of document with value at the end of the way. Members that
// are missing are created; an index must exist. It reports false when the way
// leads through something that is not an object or array, or past an array's end.
func Set(document []byte, way []Step, value []byte) ([]byte, bool) {
	at, end := 0, len(document)
	for n, step := range way {
		here := document[at:end]
		if step.IsIndex {
			from, to, ok := element(here, step.Index)
			if !ok {
				return nil, false
			}
			at, end = at+from, at+to
			continue
		}

		if KindOf(here) != Object {
			return nil, false
		}

		from, to, ok := member(here, step.Name)
		if ok {
			at, end = at+from, at+to
			continue
		}

		return insert(document, at, end, way[n:], value)
	}
	out := make([]byte, 0, len(document)-(end-at)+len(value))
	out = append(append(out, document[:at]...), value...)

	return append(out, document[end:]...), true
}

// insert adds a new member before the closing brace of the object document[at:end].
func insert(document []byte, at, end int, way []Step, value []byte) ([]byte, bool) {
	for end > at && document[end-1] != '}' {
		end--
	}

	brace := end - 1
	out := make([]byte, 0, len(document)+len(value)+64)
	out = append(out, document[:brace]...)
	if c := Walk(document[at:end]); c.Next() {
		out = append(out, ',')
	}

	out = append(AppendText(out, way[0].Name), ':')
	for _, step := range way[1:] {
		if step.IsIndex {
			return nil, false
		}
		out = append(AppendText(append(out, '{'), step.Name), ':')
	}

	out = append(out, value...)
	for range way[1:] {
		out = append(out, '}')
	}

	return append(out, document[brace:]...), true
}

// Merge returns an object with the members of a and, over them, those of b.
func Merge(a, b []byte) []byte {
	out := append(make([]byte, 0, len(a)+len(b)+1), '{')
	add := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	for c := Walk(a); c.Next(); {
		name, _ := Text(c.Key)
		if _, over := Member(b, name); !over {
			add(c.Key, c.Value)
		}
	}

	for c := Walk(b); c.Next(); {
		add(c.Key, c.Value)
	}

	return append(out, '}')
}
