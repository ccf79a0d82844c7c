package streams

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Event is the kind of a change of an item.
type Event byte

// The three events of a stream.
const (
	Insert Event = 'I'
	Modify Event = 'M'
	Remove Event = 'R'
)

// Change is one change of one item, to be written to a stream.
type Change struct {
	Stream *Stream
	// Hash is the hash of the item's partition key. It selects the shard, so that all
	// changes of an item are in one shard and its children, in order.
	Hash  uint64
	Event Event
	// Expired marks the removal of an item whose time to live has ended.
	Expired bool
	// Keys, New and Old are encoded items (attr.AppendBinary). New is nil for a removal, Old
	// for an insertion.
	Keys, New, Old []byte
	// Size is the record's size in bytes as DynamoDB counts it.
	Size int
}

// flagExpired is the bit of an encoded change that stands for Expired.
const flagExpired = 1

// parts returns what a stream with that view keeps of the item: the keys, and the images that the view
// has.
func (c *Change) parts(view View) [3][]byte {
	parts := [3][]byte{c.Keys, c.New, c.Old}
	if view == KeysOnly || view == OldImage {
		parts[1] = nil
	}

	if view == KeysOnly || view == NewImage {
		parts[2] = nil
	}

	return parts
}

// encodedSize returns how many bytes encode appends.
func (c *Change) encodedSize(view View) int {
	// The event and the flags are one byte each.
	size := 2 + uvarintSize(uint64(c.Size))
	for _, part := range c.parts(view) {
		size += uvarintSize(uint64(len(part))) + len(part)
	}

	return size
}

func uvarintSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// encode appends the change's form on disk: event, flags, size, then keys and images,
// each with its length before it.
func (c *Change) encode(dst []byte, view View) []byte {
	var flags byte
	if c.Expired {
		flags |= flagExpired
	}

	dst = append(dst, byte(c.Event), flags)
	dst = binary.AppendUvarint(dst, uint64(c.Size))
	for _, part := range c.parts(view) {
		dst = binary.AppendUvarint(dst, uint64(len(part)))
		dst = append(dst, part...)
	}

	return dst
}

var errShort = errors.New("the record is cutoff short")

// decode reads what encode wrote. The change shares raw's bytes.
func (c *Change) decode(raw []byte) error {
	if len(raw) < 2 {
		return errShort
	}

	c.Event, c.Expired = Event(raw[0]), raw[1]&flagExpired != 0
	raw = raw[2:]

	size, width := binary.Uvarint(raw)
	if width <= 0 {
		return errShort
	}

	c.Size, raw = int(size), raw[width:]
	for _, part := range [...]*[]byte{&c.Keys, &c.New, &c.Old} {
		n, width := binary.Uvarint(raw)

		// Compared before slicing: a damaged record must give an error and not a panic.
		if width <= 0 || n > uint64(len(raw)-width) {
			return errShort
		}
		raw = raw[width:]

		// The capacity ends with the part, so that an append cannot overwrite the next one.
		*part, raw = raw[:n:n], raw[n:]
	}

	return nil
}
