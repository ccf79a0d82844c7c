package dynamodb

import (
	"encoding/binary"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/store"
)

// The second byte of this package's store keys, with what follows it and the value.
const (
	kindTable  byte = 't' // table name -> tableRecord
	kindCounts byte = 'c' // nothing -> highest table number; table number -> counts
	kindItem   byte = 'i' // table number, hash of the partition key, key -> size, item
	kindIndex  byte = 'x' // index number, hash of its partition key, its key, primary key -> size, projected item
	kindExpiry byte = 'e' // table number, expiry in seconds, the rest of the item's key -> nothing
	kindToken  byte = 'k' // span of time, client request token -> expiry, digest
	// table number -> tableRecord of a table that is gone, and whose data is to be deleted
	kindDeleted byte = 'd'
)

// The limits of key attributes in bytes.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	maxHashKey  = 2048
	maxRangeKey = 1024
)

// keyAttr is one attribute of a primary key. The name is empty for the sort key of a table
// that has none.
type keyAttr struct {
	Name string
	Kind attr.Kind
}

// keySchema is the key of a table or of an index. It never changes.
type keySchema struct {
	Hash, Range keyAttr
	// MoreHash and MoreRange are the further attributes of the partition key and of the sort key. Only
	// global indexes have them.
	MoreHash  []keyAttr `json:",omitempty"`
	MoreRange []keyAttr `json:",omitempty"`
}

func (k *keySchema) has(name string) bool {
	for i := range k.count() {
		if k.at(i).Name == name {
			return true
		}
	}

	return false
}

// isMulti reports whether the partition key or the sort key has several attributes.
func (k *keySchema) isMulti() bool { return len(k.MoreHash)+len(k.MoreRange) > 0 }

// hashes returns the number of attributes of the partition key.
func (k *keySchema) hashes() int { return 1 + len(k.MoreHash) }

// count returns the number of key attributes.
func (k *keySchema) count() int {
	if k.Range.Name == "" {
		return k.hashes()
	}

	return k.hashes() + 1 + len(k.MoreRange)
}

// at returns the i-th key attribute. The attributes of the partition key come first.
func (k *keySchema) at(i int) keyAttr {
	n := k.hashes()
	switch {
	case i == 0:
		return k.Hash
	case i < n:
		return k.MoreHash[i-1]
	case i == n:
		return k.Range
	}

	return k.MoreRange[i-n-1]
}

// attrs returns the key attributes, beginning with the partition key.
func (k *keySchema) attrs() []keyAttr {
	all := make([]keyAttr, k.count())
	for i := range all {
		all[i] = k.at(i)
	}

	return all
}

// primary is an item's primary key, checked against its table's schema.
type primary struct {
	attrs attr.Item
	// bytes is the item's store key.
	bytes []byte
	// partition is the hash of the partition key. It determines the item's place in a Scan
	// and its stream shard.
	partition uint64
	// lock is the hash of the table and the whole key. It determines the stripe.
	lock uint64
}

// keyOf checks a request's Key, which must have the key attributes and no others.
func (t *table) keyOf(key attr.Item) (primary, error) {
	if err := key.Err(); err != nil {
		return primary{}, err
	}

	attrs := t.keys.attrs()
	if len(key) != len(attrs) {
		return primary{}, keyMismatch()
	}

	for _, k := range attrs {
		if v, ok := key[k.Name]; !ok || v.Kind != k.Kind {
			return primary{}, keyMismatch()
		}
	}

	return t.primaryOf(key)
}

func keyMismatch() error {
	return &schemaError{invalid("The provided key element does not match the schema")}
}

// keyIn returns the key of a whole item.
func (t *table) keyIn(item attr.Item) (primary, error) {
	for _, k := range t.keys.attrs() {
		v, ok := item[k.Name]
		if !ok {
			return primary{}, &schemaError{invalid("One or more parameter values were invalid: Missing the key %s in the item", k.Name)}
		}

		if v.Kind != k.Kind {
			return primary{}, &schemaError{invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s",
				k.Name, k.Kind, v.Kind)}
		}
	}

	return t.primaryOf(t.keyAttrs(item))
}

// keyAttrs returns the key attributes of an item.
func (t *table) keyAttrs(item attr.Item) attr.Item {
	// A table's key has no further attributes, unlike a global index's.
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

	// The missing space in the message is the service's.
	if len(hash.Str) > maxHashKey {
		return primary{}, invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", maxHashKey)
	}

	p := primary{attrs: key}
	p.bytes, p.partition = t.space().partitionKey(hash)
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

	// The hash covers the table and the whole key, so that items of one partition have
	// different stripes.
	p.lock = hashBytes(p.bytes)

	return p, nil
}

// space returns the store keys of the table's items.
func (t *table) space() keyspace { return keyspace{keys: t.keys, prefix: t.items} }

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

// hashBytes is FNV-1a with the finalizer of MurmurHash3, which spreads short keys over all
// bits. The store holds hashes and stream shards own ranges of them, so the function must
// never change.
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
