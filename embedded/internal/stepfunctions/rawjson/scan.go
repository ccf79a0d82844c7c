package rawjson

// Kind is what a value is, named by a typical first byte.
type Kind byte

// The kinds of JSON values. Invalid stands for an empty text.
const (
	Invalid Kind = 0
	Object  Kind = '{'
	Array   Kind = '['
	String  Kind = '"'
	Number  Kind = '0'
	Bool    Kind = 't'
	Null    Kind = 'n'
)

// KindOf names the kind of the value v.
func KindOf(v []byte) Kind {
	i := space(v, 0)
	if i >= len(v) {
		return Invalid
	}

	switch c := v[i]; c {
	case '{', '[', '"', 'n':
		return Kind(c)
	case 't', 'f':
		return Bool
	default:
		return Number
	}
}

// True reports whether v is the literal true.
func True(v []byte) bool {
	i := space(v, 0)
	return i < len(v) && v[i] == 't'
}

// space returns the index of the first byte at or after i that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}

	return len(b)
}

// skip returns the index after the value that starts at i.
func skip(b []byte, i int) int {
	if i >= len(b) {
		return i
	}

	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			}
			i++
		}

		return i
	default:
		for i < len(b) {
			switch b[i] {
			case ',', '}', ']', ' ', '\n', '\t', '\r':
				return i
			}
			i++
		}

		return i
	}
}

// Cursor walks the members of an object or the elements of an array.
type Cursor struct {
	b      []byte
	i      int
	object bool
	// Key is the current member's name, still quoted; nil in an array.
	Key []byte
	// Value is the current value.
	Value []byte
	// at and end are where Value stands in the walked text.
	at, end int
}

// Walk starts before the first member of v. A value that is neither object nor
// array has no members.
func Walk(v []byte) Cursor {
	i := space(v, 0)
	if i >= len(v) || v[i] != '{' && v[i] != '[' {
		return Cursor{}
	}

	return Cursor{b: v, i: i + 1, object: v[i] == '{'}
}

// Next moves to the next member and reports whether there was one.
func (c *Cursor) Next() bool {
	i := space(c.b, c.i)
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
		i = space(c.b, i+1) // the colon
	}
	end := skip(c.b, i)
	c.Value, c.at, c.end, c.i = c.b[i:end], i, end, end

	return true
}

// Is reports whether the current member is called name.
func (c *Cursor) Is(name string) bool { return keyIs(c.Key, name) }

// keyIs compares a quoted key with a name; only a key with escapes is decoded.
func keyIs(quoted []byte, name string) bool {
	if len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name {
		return true
	}

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

// Member returns the value of an object's member.
func Member(object []byte, name string) ([]byte, bool) {
	at, end, ok := member(object, name)
	return object[at:end], ok
}

func member(object []byte, name string) (at, end int, ok bool) {
	c := Walk(object)
	if !c.object {
		return 0, 0, false
	}

	for c.Next() {
		if keyIs(c.Key, name) {
			at, end, ok = c.at, c.end, true
		}
	}

	return at, end, ok
}

// Element returns the element of an array; a negative index counts from its end.
func Element(array []byte, index int) ([]byte, bool) {
	if index < 0 {
		index += Len(array)
	}
	at, end, ok := element(array, index)

	return array[at:end], ok
}

func element(array []byte, index int) (at, end int, ok bool) {
	c := Walk(array)
	if c.object || index < 0 {
		return 0, 0, false
	}

	for n := 0; c.Next(); n++ {
		if n == index {
			return c.at, c.end, true
		}
	}

	return 0, 0, false
}

// Len counts the members of an object or the elements of an array.
func Len(v []byte) int {
	n := 0
	for c := Walk(v); c.Next(); {
		n++
	}

	return n
}
