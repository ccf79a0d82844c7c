package keyspace

import (
	"bytes"
	"encoding/binary"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Space is a range of store keys in the order of a key schema: the items of a table, or
// the entries of an index.
type Space struct {
	Keys   Schema
	Prefix []byte
}

// PartitionKey returns the prefix of the store keys of one partition, and the partition's
// hash. more are the values of the further attributes of the partition key.
func (k *Space) PartitionKey(hash attr.Value, more ...attr.Value) (prefix []byte, partition uint64) {
	prefix = make([]byte, 0, len(k.Prefix)+4+len(hash.Str)+32)
	prefix = append(prefix, k.Prefix...)
	prefix = append(prefix, 0, 0, 0, 0) // the upper half of the hash, set below
	at := len(prefix)

	prefix = attr.AppendKey(prefix, hash)
	for _, v := range more {
		prefix = attr.AppendKey(prefix, v)
	}
	partition = Hash(prefix[at:])
	binary.BigEndian.PutUint32(prefix[at-4:], uint32(partition>>32))

	return prefix, partition
}

// Bounds returns the range of store keys that a key condition covers. A store key that begins with
// a sort key's encoding has that sort key, because no encoding is a prefix of another.
func (k *Space) Bounds(c *expression.KeyCondition) (lo, hi []byte, err error) {
	prefix, err := k.equalPart(c)
	if err != nil {
		return nil, nil, err
	}

	end := store.PrefixEnd(prefix)
	r := c.Range
	if r.Op == expression.RangeNone {
		return prefix, end, nil
	}

	// The first attribute of the sort key that has no equality.
	key := k.Keys.At(k.Keys.Hashes() + len(c.Equal))
	if err := checkCondition(key, r.Lo); err != nil {
		return nil, nil, err
	}

	if r.Op == expression.RangeBeginsWith {
		// A part of a number's encoding means nothing.
		if r.Lo.Kind == attr.N {
			return nil, nil, wire.Invalid("Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N")
		}
		lo = attr.AppendKeyPrefix(bytes.Clone(prefix), r.Lo)

		return lo, store.PrefixEnd(lo), nil
	}

	at := attr.AppendKey(bytes.Clone(prefix), r.Lo)

	// above comes after all keys with this value, including keys in which other attributes follow.
	above := store.PrefixEnd(at)
	switch r.Op {
	case expression.RangeEqual:
		return at, above, nil
	case expression.RangeLess:
		return prefix, at, nil
	case expression.RangeLessEqual:
		return prefix, above, nil
	case expression.RangeGreater:
		return above, end, nil
	case expression.RangeGreaterEqual:
		return at, end, nil
	default: // RangeBetween
		if err := checkCondition(key, r.Hi); err != nil {
			return nil, nil, err
		}

		return at, store.PrefixEnd(attr.AppendKey(bytes.Clone(prefix), r.Hi)), nil
	}
}

// equalPart returns the beginning of all store keys that satisfy the equalities of a condition.
func (k *Space) equalPart(c *expression.KeyCondition) ([]byte, error) {
	if err := checkCondition(k.Keys.Hash, c.Hash); err != nil {
		return nil, err
	}

	for i, v := range c.MoreHash {
		if err := checkCondition(k.Keys.MoreHash[i], v); err != nil {
			return nil, err
		}
	}

	prefix, _ := k.PartitionKey(c.Hash, c.MoreHash...)
	for i, v := range c.Equal {
		if err := checkCondition(k.Keys.At(k.Keys.Hashes()+i), v); err != nil {
			return nil, err
		}
		prefix = attr.AppendKey(prefix, v)
	}

	return prefix, nil
}

// checkCondition refuses a value that the key attribute cannot have.
func checkCondition(k Attr, v attr.Value) error {
	if v.Kind != k.Kind {
		return wire.Invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
	}

	return checkKeyValue(k.Name, v)
}

// Segment returns the range of store keys of a segment, or of the whole keyspace if segment is nil.
func (k *Space) Segment(segment, total *int64) (lo, hi []byte) {
	if segment == nil {
		return k.Prefix, store.PrefixEnd(k.Prefix)
	}

	boundary := func(n int64) []byte {
		return binary.BigEndian.AppendUint32(bytes.Clone(k.Prefix), uint32((n<<32)/(*total)))
	}

	// The end of the last segment, 2^32, does not fit into the four bytes of a hash.
	if *segment+1 == *total {
		return boundary(*segment), store.PrefixEnd(k.Prefix)
	}

	return boundary(*segment), boundary(*segment + 1)
}

// CheckFilter refuses a filter of a Query that reads key attributes. legacy says that the
// filter is a QueryFilter.
func (k *Space) CheckFilter(filter *expression.Condition, legacy bool) error {
	if filter == nil {
		return nil
	}

	parameter := "Filter Expression"
	if legacy {
		parameter = "QueryFilter"
	}

	read := filter.TopLevel()
	for _, key := range k.Keys.Attrs() {
		if slices.Contains(read, key.Name) {
			return wire.Invalid("%s can only contain non-primary key attributes: Primary key attribute: %s", parameter, key.Name)
		}
	}

	return nil
}
