package streams

import (
	"encoding/binary"
	"errors"
)

// Event is what happened to an item.
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

// encode returns the change's form on disk: event, flags, size, then keys and images,
// each with its length before it. It keeps the images that the view has.
func (c *Change) encode(view View) []byte {
	newImage, oldImage := c.New, c.Old
	if view == KeysOnly || view == OldImage {
		newImage = nil
	}

	if view == KeysOnly || view == NewImage {
		oldImage = nil
	}

	var flags byte
	if c.Expired {
		flags |= flagExpired
	}

	dst := make([]byte, 0, 16+len(c.Keys)+len(newImage)+len(oldImage))
	dst = append(dst, byte(c.Event), flags)
	dst = binary.AppendUvarint(dst, uint64(c.Size))
	for _, part := range [][]byte{c.Keys, newImage, oldImage} {
		dst = binary.AppendUvarint(dst, uint64(len(part)))
		dst = append(dst, part...)
	}

	return dst
}

// decodeChange reads what encode wrote. The change shares raw's bytes.
func decodeChange(raw []byte) (*Change, error) {
	short := errors.New("the record is cutoff short")
	if len(raw) < 2 {
		return nil, short
	}

	c := &Change{Event: Event(raw[0]), Expired: raw[1]&flagExpired != 0}
	raw = raw[2:]

	size, width := binary.Uvarint(raw)
	if width <= 0 {
		return nil, short
	}

	c.Size, raw = int(size), raw[width:]
	for _, part := range []*[]byte{&c.Keys, &c.New, &c.Old} {
		n, width := binary.Uvarint(raw)
		if width <= 0 || n > uint64(len(raw)-width) {
			return nil, short
		}
		raw = raw[width:]
		*part, raw = raw[:n:n], raw[n:]
	}

	return c, nil
}
