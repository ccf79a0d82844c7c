package keyspace

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/wire"
)

// The limits of key attributes in bytes.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	MaxHashKey  = 2048
	MaxRangeKey = 1024
)

// Primary is an item's primary key, checked against its table's schema.
type Primary struct {
	Attrs attr.Item
	// Bytes is the item's store key.
	Bytes []byte
	// Partition is the hash of the partition key. It determines the item's place in a Scan
	// and its stream shard.
	Partition uint64
	// Lock is the hash of the table and the whole key. It determines the stripe.
	Lock uint64
}

// KeyOf checks a request's Key, which must have the key attributes and no others.
func (k *Space) KeyOf(key attr.Item) (Primary, error) {
	if err := key.Err(); err != nil {
		return Primary{}, err
	}

	attrs := k.Keys.Attrs()
	if len(key) != len(attrs) {
		return Primary{}, keyMismatch()
	}

	for _, a := range attrs {
		if v, ok := key[a.Name]; !ok || v.Kind != a.Kind {
			return Primary{}, keyMismatch()
		}
	}

	return k.PrimaryOf(key)
}

func keyMismatch() error {
	return &Mismatch{wire.Invalid("The provided key element does not match the schema")}
}

// KeyIn returns the key of a whole item.
func (k *Space) KeyIn(item attr.Item) (Primary, error) {
	for _, a := range k.Keys.Attrs() {
		v, ok := item[a.Name]
		if !ok {
			return Primary{}, &Mismatch{wire.Invalid("One or more parameter values were invalid: Missing the key %s in the item", a.Name)}
		}

		if v.Kind != a.Kind {
			return Primary{}, &Mismatch{wire.Invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s",
				a.Name, a.Kind, v.Kind)}
		}
	}

	return k.PrimaryOf(k.KeyAttrs(item))
}

// KeyAttrs returns the key attributes of an item.
func (k *Space) KeyAttrs(item attr.Item) attr.Item {
	// A table's key has no further attributes, unlike a global index's.
	key := attr.Item{k.Keys.Hash.Name: item[k.Keys.Hash.Name]}
	if k.Keys.Range.Name != "" {
		key[k.Keys.Range.Name] = item[k.Keys.Range.Name]
	}

	return key
}

// PrimaryOf returns the key that consists of these attributes, whose types were checked.
func (k *Space) PrimaryOf(key attr.Item) (Primary, error) {
	hash := key[k.Keys.Hash.Name]
	if err := checkKeyValue(k.Keys.Hash.Name, hash); err != nil {
		return Primary{}, err
	}

	// The missing space in the message is the service's.
	if len(hash.Str) > MaxHashKey {
		return Primary{}, wire.Invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", MaxHashKey)
	}

	p := Primary{Attrs: key}
	p.Bytes, p.Partition = k.PartitionKey(hash)
	if name := k.Keys.Range.Name; name != "" {
		v := key[name]
		if err := checkKeyValue(name, v); err != nil {
			return Primary{}, err
		}

		if len(v.Str) > MaxRangeKey {
			return Primary{}, wire.Invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", MaxRangeKey)
		}
		p.Bytes = attr.AppendKey(p.Bytes, v)
	}

	// The hash covers the table and the whole key, so that items of one partition have
	// different stripes.
	p.Lock = Hash(p.Bytes)

	return p, nil
}

func checkKeyValue(name string, v attr.Value) error {
	if v.Kind == attr.N || v.Str != "" {
		return nil
	}

	kind := "string"
	if v.Kind == attr.B {
		kind = "binary"
	}

	return wire.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", kind, name)
}

// Mismatch is a validation error that DynamoDB finds only when it compares an action with
// the table's key schema. Within a transaction it becomes a cancellation reason, where any
// other validation error fails the whole request.
// Source: https://github.com/paritysuite/dynamodb-conformance/pull/46
type Mismatch struct{ Err *wire.Error }

func (e *Mismatch) Error() string { return e.Err.Error() }
func (e *Mismatch) Unwrap() error { return e.Err }
