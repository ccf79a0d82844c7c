package dynamodb

import (
	"bytes"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/store"
)

// indexRecord is a secondary index as the record of its table has it.
type indexRecord struct {
	Name string `json:"name"`
	// No is unique among tables and indexes, and never reused.
	No   uint64          `json:"no"`
	Keys keyspace.Schema `json:"keys"`
	// Local is set for a local secondary index.
	Local bool `json:"local,omitempty"`
	// Projection is ALL, KEYS_ONLY or INCLUDE; the last with NonKey.
	Projection string   `json:"projection"`
	NonKey     []string `json:"nonKey,omitempty"`
	ReadUnits  int64    `json:"readUnits,omitempty"`
	WriteUnits int64    `json:"writeUnits,omitempty"`
	throughputSettings
	// Building is set while the items that existed before the index are entered.
	Building bool `json:"building,omitempty"`
}

// space returns the store keys of the index's entries: number, hash of the partition key,
// the index's key, and the primary key of the item.
func (x *indexRecord) space() keyspace.Space {
	return keyspace.Space{Keys: x.Keys, Prefix: keyspace.TablePrefix(keyspace.KindIndex, x.No)}
}

// covers reports whether the item is in the index: it has all key attributes, with values that can be
// keys. In an item that is older than the index, these attributes may have other values.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.ViolationDetection.html
func (x *indexRecord) covers(item attr.Item) bool {
	if item == nil {
		return false
	}

	for i := range x.Keys.Count() {
		if _, has := item[x.Keys.At(i).Name]; !has {
			return false
		}
	}

	return x.checkItem(item, false) == nil
}

// projects reports whether entries of the index hold the attribute.
func (x *indexRecord) projects(t *table, name string) bool {
	return x.Projection == projectAll || x.Keys.Has(name) || t.Keys.Has(name) || slices.Contains(x.NonKey, name)
}

// project returns the part of an item that an entry of the index holds.
func (x *indexRecord) project(t *table, item attr.Item) attr.Item {
	if x.Projection == projectAll {
		return item
	}

	out := attr.Item{}
	for name, v := range item {
		if x.projects(t, name) {
			out[name] = v
		}
	}

	return out
}

// entryKey returns the store key of an item's entry. primaryKey is the item's own store key.
func (x *indexRecord) entryKey(t *table, item attr.Item, primaryKey []byte) []byte {
	var more []attr.Value
	for _, k := range x.Keys.MoreHash {
		more = append(more, item[k.Name])
	}

	space := x.space()
	key, _ := space.PartitionKey(item[x.Keys.Hash.Name], more...)
	for i := x.Keys.Hashes(); i < x.Keys.Count(); i++ {
		key = attr.AppendKey(key, item[x.Keys.At(i).Name])
	}

	// The rest of the primary key keeps the entries of items with equal index keys apart.
	return append(key, primaryKey[len(t.Prefix)+hashPart:]...)
}

// hashPart is the length of the hash that follows the prefix of a store key.
const hashPart = 4

// lastKey returns the LastEvaluatedKey of a page of the index that ends with the item.
func (x *indexRecord) lastKey(t *table, item attr.Item) attr.Item {
	key := t.KeyAttrs(item)
	for i := range x.Keys.Count() {
		name := x.Keys.At(i).Name
		key[name] = item[name]
	}

	return key
}

// checkItem refuses an item whose attributes cannot be keys of the index. An item without
// them is left out of the index.
func (x *indexRecord) checkItem(item attr.Item, updated bool) error {
	var hash, sort int // bytes
	for i := range x.Keys.Count() {
		k := x.Keys.At(i)

		v, has := item[k.Name]
		if !has {
			continue
		}

		if v.Kind != k.Kind {
			if updated {
				return invalid("The update expression attempted to update the secondary index key to unsupported type")
			}

			return invalid("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
				k.Name, k.Kind, v.Kind, x.Name)
		}

		if v.Kind != attr.N && v.Str == "" {
			// An empty text or binary can be an attribute but no key.
			kind := "string"
			if v.Kind == attr.B {
				kind = "binary"
			}

			return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
				"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", kind, x.Name, k.Name)
		}

		// The attributes of the partition key have one limit together, and so have the sort key's.
		if i < x.Keys.Hashes() {
			hash += v.Size()
		} else {
			sort += v.Size()
		}

		if hash > keyspace.MaxHashKey {
			return invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", keyspace.MaxHashKey)
		}

		if sort > keyspace.MaxRangeKey {
			return invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", keyspace.MaxRangeKey)
		}
	}

	return nil
}

// entry is an item's entry in one index: nil key and value for none.
type entry struct {
	key   []byte
	value stored.Item
}

func (x *indexRecord) entryOf(t *table, item attr.Item, primaryKey []byte) (e entry) {
	if !x.covers(item) {
		return e
	}

	projected := x.project(t, item)
	e.key, e.value = x.entryKey(t, item, primaryKey), stored.New(projected, projected.Size())

	return e
}

// indexChange is the effect of an item's change on its entry in one index.
type indexChange struct {
	index    *indexRecord
	old, new entry
}

// units returns the write units of the change: the units of the larger entry, or of both entries if
// the entry moves to another key.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes
func (x *indexChange) units() capacity.Units {
	switch {
	case x.old.key == nil && x.new.key == nil, bytes.Equal(x.old.key, x.new.key) && bytes.Equal(x.old.value, x.new.value):
		return 0
	case x.old.key == nil:
		return capacity.Write(x.new.value.Size())
	case x.new.key == nil:
		return capacity.Write(x.old.value.Size())
	case bytes.Equal(x.old.key, x.new.key):
		return capacity.Write(max(x.old.value.Size(), x.new.value.Size()))
	}

	return capacity.Write(x.old.value.Size()) + capacity.Write(x.new.value.Size())
}

// stage adds the change to the batch.
func (x *indexChange) stage(b *store.Batch) {
	// An entry that keeps its key is overwritten.
	if x.old.key != nil && !bytes.Equal(x.old.key, x.new.key) {
		b.Delete(x.old.key)
	}

	if x.new.key != nil && !(bytes.Equal(x.old.key, x.new.key) && bytes.Equal(x.old.value, x.new.value)) {
		b.Set(x.new.key, x.new.value)
	}
}

// computeIndexes sets the changes of the entries in the table's indexes. It fails if the new item
// cannot be in one of them.
func (s *Service) computeIndexes(c *change) error {
	indexes := c.state.record.Indexes

	// An item that does not change may break the rules of an index that is newer than the item.
	if len(indexes) == 0 || c.verb == check || !c.differs() {
		return nil
	}

	c.indexes = make([]indexChange, len(indexes))
	for i := range indexes {
		x := &indexes[i]
		if err := x.checkItem(c.new, c.verb == update); err != nil {
			return err
		}

		d := indexChange{index: x, old: x.entryOf(c.table, c.old, c.key.Bytes), new: x.entryOf(c.table, c.new, c.key.Bytes)}
		if x.Building && d.old.key != nil {
			// The old item may not have been entered yet, and is then neither removed nor counted.
			_, entered, err := s.db.Get(d.old.key)
			if err != nil {
				return err
			}

			if !entered {
				d.old = entry{}
			}
		}
		c.indexes[i] = d
	}

	return nil
}

// indexNamed returns the table's index of that name, nil if there is none.
func (r *tableRecord) indexNamed(name string) *indexRecord {
	for i := range r.Indexes {
		if r.Indexes[i].Name == name {
			return &r.Indexes[i]
		}
	}

	return nil
}
