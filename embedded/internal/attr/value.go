// Package attr is DynamoDB's data: attribute values, items, exact numbers, their
// sizes, their order, and their two encodings (AWS JSON on the wire, a compact
// binary form on disk, an order-keeping form in keys).
package attr

// Kind is an attribute's type, named by its wire descriptor.
type Kind uint8

// The ten types of DynamoDB.
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

// Value is one attribute value. It is immutable once built: whoever changes an
// item builds new values, so that values may be shared between items.
type Value struct {
	Kind Kind
	// Str holds an S, the canonical text of an N, or the raw bytes of a B.
	Str string
	// Bool holds a BOOL (a NULL is always true).
	Bool bool
	// Map holds an M, List an L. Set holds the members of SS, NS (canonical
	// texts) or BS (raw bytes), sorted, without duplicates.
	Map  Item
	List []Value
	Set  []string
}

// Item is an item or a map: values by attribute name.
type Item map[string]Value
