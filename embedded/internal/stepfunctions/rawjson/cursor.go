package rawjson

// Cursor walks the members of an object or the elements of an array.
type Cursor struct {
	b      []byte
	i      int
	object bool
	// Key is the current member's name, still quoted; nil in an array.
	Key []byte
	// Value is the current value.
	Value []byte
	// Value is b[at:end].
	at, end int
}

// Walk returns a cursor before the first member of v. A value that is neither an object
// nor an array has no members.
func Walk(v []byte) Cursor {
	i := space(v, 0)
	if i >= len(v) || v[i] != '{' && v[i] != '[' {
		return Cursor{}
	}

	return Cursor{b: v, i: i + 1, object: v[i] == '{'}
}

// WalkFrom returns a cursor that continues at the Offset of another cursor over v.
func WalkFrom(v []byte, offset int) Cursor {
	c := Walk(v)
	if offset > c.i && offset <= len(v) {
		c.i = offset
	}

	return c
}

// Offset returns where the current member ends.
func (c *Cursor) Offset() int { return c.i }

// Next moves to the next member and reports whether there was one.
func (c *Cursor) Next() bool {
	i := space(c.b, c.i)
	// The comma is not checked: Valid has accepted the document.
	if i < len(c.b) && c.b[i] == ',' {
		i = space(c.b, i+1)
	}

	if i >= len(c.b) || c.b[i] == '}' || c.b[i] == ']' {
		return false
	}

	if c.object {
		k := skipString(c.b, i)
		c.Key = c.b[i:k]
		i = space(c.b, k)
		i = space(c.b, i+1) // after the colon
	}

	end := skip(c.b, i)
	c.Value, c.at, c.end, c.i = c.b[i:end], i, end, end

	return true
}

// Is reports whether the current member is called name.
func (c *Cursor) Is(name string) bool { return keyIs(c.Key, name) }

// keyIs reports whether a quoted key is name. It decodes only keys with escapes.
func keyIs(quoted []byte, name string) bool {
	if len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name {
		return true
	}

	// A key with escapes is longer than its name, never shorter.
	if len(quoted) <= len(name)+2 {
		return false
	}

	for _, c := range quoted {
		if c == '\\' {
			s, ok := Text(quoted)
			return ok && s == name
		}
	}

	return false
}
