package dynamodb

import (
	"encoding/binary"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/store"
)

// Second byte of this package's keys.
const (
	kindTable  byte = 't' // table name -> tableRecord
	kindCounts byte = 'c' // nothing -> table numbers given; table number -> counts
	kindItem   byte = 'i' // table number, hash of the partition key, key -> size, item
	kindExpiry byte = 'e' // table number, expiry in seconds, item key's suffix -> nothing
	kindToken  byte = 'k' // span of time, client request token -> expiry, digest
)

// Limits of key attributes in bytes.
const (
	maxHashKey  = 2048
	maxRangeKey = 1024
)

// keyAttr is one attribute of a primary key; its name is empty when a table has
// no sort key.
type keyAttr struct {
	Name string
	Kind attr.Kind
}

// keySchema is a table's primary key. It never changes.
type keySchema struct{ Hash, Range keyAttr }

func (k *keySchema) has(name string) bool {
	return name == k.Hash.Name || k.Range.Name != "" && name == k.Range.Name
}

// primary is an item's primary key, checked against its table's schema.
type primary struct {
	attrs attr.Item
	// bytes is the item's key in the store.
	bytes []byte
	// partition hashes the partition key: it places the item in the order of a
	// Scan and in a stream's shards.
	partition uint64
	// lock hashes the whole key with the table: it picks the stripe.
	lock uint64
}

// keyOf checks a request's Key, which must hold the key attributes and no others.
func (t *table) keyOf(key attr.Item) (primary, error) {
	if err := key.Err(); err != nil {
		return primary{}, err
	}

	want := 1
	if t.keys.Range.Name != "" {
		want = 2
	}

	if len(key) != want {
		return primary{}, invalid("The provided key element does not match the schema")
	}

	for _, k := range []keyAttr{t.keys.Hash, t.keys.Range} {
		if k.Name == "" {
			continue
		}

		v, ok := key[k.Name]
		if !ok {
			return primary{}, invalid("The provided key element does not match the schema")
		}

		if v.Kind != k.Kind {
			return primary{}, &schemaError{invalid("The provided key element does not match the schema")}
		}
	}

	return t.primaryOf(key)
}

// keyIn picks the key out of a whole item.
func (t *table) keyIn(item attr.Item) (primary, error) {
	for _, k := range []keyAttr{t.keys.Hash, t.keys.Range} {
		if k.Name == "" {
			continue
		}

		v, ok := item[k.Name]
		if !ok {
			return primary{}, invalid("One or more parameter values were invalid: Missing the key %s in the item", k.Name)
		}

		if v.Kind != k.Kind {
			return primary{}, &schemaError{invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s",
				k.Name, k.Kind, v.Kind)}
		}
	}

	return t.primaryOf(t.keyAttrs(item))
}

// keyAttrs is the item reduced to its key attributes.
func (t *table) keyAttrs(item attr.Item) attr.Item {
	key := attr.Item{t.keys.Hash.Name: item[t.keys.Hash.Name]}
	if t.keys.Range.Name != "" {
		key[t.keys.Range.Name] = item[t.keys.Range.Name]
	}

	return key
}

func (t *table) primaryOf(key attr.Item) (primary, error) {
	hash := key[t.keys.Hash.Name]
	if err := checkKeyValue(t.keys.Hash.Name, hash); err != nil {
		return primary{}, err
	}

	if len(hash.Str) > maxHashKey {
		return primary{}, invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", maxHashKey)
	}

	p := primary{attrs: key}
	p.bytes, p.partition = t.partitionKey(hash)
	if name := t.keys.Range.Name; name != "" {
		v := key[name]
		if err := checkKeyValue(name, v); err != nil {
			return primary{}, err
		}

		if len(v.Str) > maxRangeKey {
			return primary{}, invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", maxRangeKey)
		}
		p.bytes = attr.AppendKey(p.bytes, v)
	}
	p.lock = hashBytes(p.bytes)

	return p, nil
}

// partitionKey is what the store keys of one partition's items start with, and
// the partition's hash.
func (t *table) partitionKey(hash attr.Value) (prefix []byte, partition uint64) {
	prefix = make([]byte, 0, len(t.items)+4+len(hash.Str)+32)
	prefix = append(prefix, t.items...)
	prefix = append(prefix, 0, 0, 0, 0)
	at := len(prefix)
	prefix = attr.AppendKey(prefix, hash)
	partition = hashBytes(prefix[at:])
	binary.BigEndian.PutUint32(prefix[at-4:], uint32(partition>>32))

	return prefix, partition
}

func checkKeyValue(name string, v attr.Value) error {
	if v.Kind == attr.N || v.Str != "" {
		return nil
	}

	kind := "string"
	if v.Kind == attr.B {
		kind = "binary"
	}

	return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", kind, name)
}

// hashBytes is FNV-1a with its bits mixed: it must be the same in every process,
// since stream shards own ranges of it.
func hashBytes(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53

	return h ^ h>>33
}

func storeKey(kind byte, tail ...byte) []byte {
	return append([]byte{store.PrefixDynamoDB, kind}, tail...)
}

func tablePrefix(kind byte, no uint64) []byte {
	return binary.BigEndian.AppendUint64(storeKey(kind), no)
}

// after is the smallest key above every key that starts with prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}

	return nil
}
