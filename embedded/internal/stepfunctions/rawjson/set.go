package rawjson

// Step is one step of a path into a document: a member's name or an index.
type Step struct {
	Name    string
	Index   int
	IsIndex bool
}

// Set returns a copy of document with value at the end of the path. It adds members that are missing. ok
// is false if the path leads through a value that is no object or array, or past the end of an array.
func Set(document []byte, path []Step, value []byte) (changed []byte, ok bool) {
	// document[at:end] is the value that the steps so far lead to.
	at, end := 0, len(document)
	for n, step := range path {
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

		// From the first missing member on, the rest of the path is new.
		return insert(document, at, end, path[n:], value)
	}

	out := make([]byte, 0, len(document)-(end-at)+len(value))
	out = append(append(out, document[:at]...), value...)

	return append(out, document[end:]...), true
}

// insert adds a member to the object document[at:end], before its closing brace: path[0],
// and the rest of the path inside of it.
func insert(document []byte, at, end int, path []Step, value []byte) ([]byte, bool) {
	// White space may follow the closing brace of a whole document.
	for end > at && document[end-1] != '}' {
		end--
	}

	brace := end - 1
	out := make([]byte, 0, len(document)+len(value)+64)
	out = append(out, document[:brace]...)
	if c := Walk(document[at:end]); c.Next() {
		out = append(out, ',')
	}

	out = append(AppendText(out, path[0].Name), ':')
	for _, step := range path[1:] {
		// An array that does not exist has no elements.
		if step.IsIndex {
			return nil, false
		}

		out = append(AppendText(append(out, '{'), step.Name), ':')
	}

	out = append(out, value...)
	for range path[1:] {
		out = append(out, '}')
	}

	return append(out, document[brace:]...), true
}
