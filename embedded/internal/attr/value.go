package attr

import (
	"maps"
	"slices"
)

// Kind is an attribute's type, named by its wire descriptor.
type Kind uint8

// The ten types of DynamoDB. Invalid is the zero Value, and what decoding makes
// of JSON that is no value.
const (
	Invalid Kind = iota
	S
	N
	B
	BOOL
	NULL
	M
	L
	SS
	NS
	BS
)

var kindNames = [...]string{"", "S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}

// String returns the descriptor on the wire: "S", "N", ...; "" for Invalid.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return ""
}

// KindOf returns the kind with that descriptor, or Invalid.
func KindOf(descriptor string) Kind {
	if descriptor == "" {
		return Invalid
	}
	return Kind(max(0, slices.Index(kindNames[:], descriptor)))
}

// Value is one attribute value. It is immutable once built: whoever changes an
// item builds new values, so that values may be shared between items.
type Value struct {
	Kind Kind
	// Bool holds a BOOL (a NULL is always true).
	Bool bool
	// Str holds an S, the canonical text of an N, or the raw bytes of a B. Of an
	// Invalid it holds why it is.
	Str string
	// Map holds an M, List an L. Set holds the members of SS, NS (canonical
	// texts) or BS (raw bytes), sorted, without duplicates.
	Map  Item
	List []Value
	Set  []string
}

// Item is an item or a map: values by attribute name.
type Item map[string]Value

// Err returns the ValidationError of a value that decoding could not accept.
func (v Value) Err() error {
	switch {
	case v.Kind != Invalid:
		return nil
	case v.Str == "":
		return &ValidationError{msgEmpty}
	default:
		return &ValidationError{v.Str}
	}
}

// Err returns the ValidationError of the first value, by name, that decoding could
// not accept. It looks at the top level only: a map with an invalid member is
// itself Invalid.
func (i Item) Err() error {
	bad, found := "", false
	for name, v := range i {
		if v.Kind == Invalid && (!found || name < bad) {
			bad, found = name, true
		}
	}

	if !found {
		return nil
	}

	return i[bad].Err()
}

// Names returns the attribute names, sorted.
func (i Item) Names() []string { return i.appendNames(make([]string, 0, len(i))) }

// appendNames lets the encoders sort the names of a usual item without touching the heap.
func (i Item) appendNames(names []string) []string {
	names = slices.AppendSeq(names, maps.Keys(i))
	slices.Sort(names)
	return names
}

func invalid(message string) Value { return Value{Str: message} }
