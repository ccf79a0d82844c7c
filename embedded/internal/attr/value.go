package attr

import "slices"

// MaxNameLength is the length of the longest attribute name in bytes.
const MaxNameLength = 65535

// MaxDepth is the number of levels that a value may have: a scalar has one, a list of
// scalars has two.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const MaxDepth = 32

// Kind is an attribute's type, named by its descriptor on the wire.
type Kind uint8

// The ten types of DynamoDB. Invalid is the kind of the zero Value, and of the value that
// decoding returns for JSON that is not data.
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

// String returns the descriptor on the wire, like "S"; "" for Invalid.
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

	// An unknown descriptor has the index -1.
	return Kind(max(0, slices.Index(kindNames[:], descriptor)))
}

// Value is one attribute value. It is immutable once built: changing an item builds new
// values, so that items may share values.
type Value struct {
	Kind Kind
	// Bool holds a BOOL (a NULL is always true).
	Bool bool
	// Str holds an S, the canonical text of an N, or the raw bytes of a B. For an
	// Invalid it holds DynamoDB's message.
	Str string
	// Map holds an M.
	Map Item
	// many holds an L or a set. Few values are one of these, and two slices beside the other fields
	// would double the size of every value.
	many *many
}

type many struct {
	list []Value
	set  []string
}

// NewList returns an L. It keeps the slice.
func NewList(elements []Value) Value { return Value{Kind: L, many: &many{list: elements}} }

// NewSortedSet returns a set of that kind whose members are sorted as SortSet does, without duplicates. It
// keeps the slice.
func NewSortedSet(kind Kind, members []string) Value {
	return Value{Kind: kind, many: &many{set: members}}
}

// List returns the elements of an L.
func (v Value) List() []Value {
	if v.many == nil {
		return nil
	}

	return v.many.list
}

// Set returns the members of an SS, NS (canonical texts) or BS (raw bytes), sorted and without duplicates.
func (v Value) Set() []string {
	if v.many == nil {
		return nil
	}

	return v.many.set
}

// Item is an item or a map: values by attribute name.
type Item map[string]Value

// Err returns the ValidationError of an Invalid, and nil for any other value.
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

// Err returns the ValidationError of the Invalid value with the lowest name, and nil when
// there is none. It looks at the top level only: a map with an Invalid member is itself
// Invalid.
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

// appendNames is Names for the encoders, which sort the names of most items on the stack.
func (i Item) appendNames(names []string) []string {
	for name := range i { // maps.Keys takes twice as long
		names = append(names, name)
	}
	slices.Sort(names)

	return names
}

func invalid(message string) Value { return Value{Str: message} }
