package rawjson

// Kind is the type of a JSON value, named by a typical first byte.
type Kind byte

// The kinds of JSON values. Invalid is the kind of an empty text.
const (
	Invalid Kind = 0
	Object  Kind = '{'
	Array   Kind = '['
	String  Kind = '"'
	Number  Kind = '0'
	Bool    Kind = 't'
	Null    Kind = 'n'
)

// KindOf returns the kind of the value v.
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
