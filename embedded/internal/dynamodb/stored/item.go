package stored

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

// Item is an item as the store holds it: its size by DynamoDB's rule, then its encoding.
// With the size in front, charging for an item does not need its decoding.
type Item []byte

// New encodes an item of that size.
func New(item attr.Item, size int) Item {
	raw := binary.AppendUvarint(make([]byte, 0, size+len(item)*4+16), uint64(size))
	return attr.AppendBinary(raw, item)
}

// split returns the size and the encoding.
func (s Item) split() (size int, encoding []byte, err error) {
	n, width := binary.Uvarint(s)
	if width <= 0 {
		return 0, nil, errors.New("a stored item has no size")
	}

	return int(n), s[width:], nil
}

// Size returns the item's size, 0 for no item.
func (s Item) Size() int {
	n, _ := binary.Uvarint(s)
	return int(n)
}

// Encoding returns the item's encoding, nil for no item.
func (s Item) Encoding() []byte {
	if s == nil {
		return nil
	}
	_, width := binary.Uvarint(s)

	return s[max(width, 0):]
}

// AppendJSON appends the item as AWS JSON.
func (s Item) AppendJSON(dst []byte) ([]byte, error) {
	_, encoding, err := s.split()
	if err != nil {
		return dst, err
	}

	if dst, err = attr.AppendBinaryJSON(dst, encoding); err != nil {
		return dst, fmt.Errorf("decode a stored item: %w", err)
	}

	return dst, nil
}

// AppendProjected appends the parts of the item that project selects, as AWS JSON. A nil
// project selects the whole item.
func (s Item) AppendProjected(dst []byte, project *expression.Projection) ([]byte, error) {
	if project == nil {
		return s.AppendJSON(dst)
	}

	item, err := s.Decode()
	if err != nil {
		return dst, err
	}

	return project.Apply(item).AppendJSON(dst), nil
}

// Decode returns the item.
func (s Item) Decode() (attr.Item, error) {
	_, encoding, err := s.split()
	if err != nil {
		return nil, err
	}

	item, err := attr.DecodeBinary(encoding)
	if err != nil {
		return nil, fmt.Errorf("decode a stored item: %w", err)
	}

	return item, nil
}
