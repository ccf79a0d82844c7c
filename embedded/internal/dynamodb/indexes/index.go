package indexes

import (
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/settings"
	"ratchet/embedded/internal/wire"
)

// The projections of an index.
const (
	All      = "ALL"
	KeysOnly = "KEYS_ONLY"
	Include  = "INCLUDE"
)

// Index is a secondary index as the record of its table has it.
type Index struct {
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
	settings.Kept
	// Building is set while the items that existed before the index are entered.
	Building bool `json:"building,omitempty"`
}

// Space returns the store keys of the index's entries: number, hash of the partition key,
// the index's key, and the primary key of the item.
func (x *Index) Space() keyspace.Space {
	return keyspace.Space{Keys: x.Keys, Prefix: keyspace.TablePrefix(keyspace.KindIndex, x.No)}
}

// covers reports whether the item is in the index: it has all key attributes, with values that can be
// keys. In an item that is older than the index, these attributes may have other values.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.ViolationDetection.html
func (x *Index) covers(item attr.Item) bool {
	if item == nil {
		return false
	}

	for i := range x.Keys.Count() {
		if _, has := item[x.Keys.At(i).Name]; !has {
			return false
		}
	}

	return x.CheckItem(item, false) == nil
}

// Projects reports whether entries of the index hold the attribute.
func (x *Index) Projects(table *keyspace.Space, name string) bool {
	return x.Projection == All || x.Keys.Has(name) || table.Keys.Has(name) || slices.Contains(x.NonKey, name)
}

// project returns the part of an item that an entry of the index holds.
func (x *Index) project(table *keyspace.Space, item attr.Item) attr.Item {
	if x.Projection == All {
		return item
	}

	out := attr.Item{}
	for name, v := range item {
		if x.Projects(table, name) {
			out[name] = v
		}
	}

	return out
}

// EntryKey returns the store key of an item's entry. primaryKey is the item's own store key.
func (x *Index) EntryKey(table *keyspace.Space, item attr.Item, primaryKey []byte) []byte {
	var more []attr.Value
	for _, k := range x.Keys.MoreHash {
		more = append(more, item[k.Name])
	}

	space := x.Space()
	key, _ := space.PartitionKey(item[x.Keys.Hash.Name], more...)
	for i := x.Keys.Hashes(); i < x.Keys.Count(); i++ {
		key = attr.AppendKey(key, item[x.Keys.At(i).Name])
	}

	// The rest of the primary key keeps the entries of items with equal index keys apart.
	return append(key, primaryKey[len(table.Prefix)+hashPart:]...)
}

// hashPart is the length of the hash that follows the prefix of a store key.
const hashPart = 4

// LastKey returns the LastEvaluatedKey of a page of the index that ends with the item.
func (x *Index) LastKey(table *keyspace.Space, item attr.Item) attr.Item {
	key := table.KeyAttrs(item)
	for i := range x.Keys.Count() {
		name := x.Keys.At(i).Name
		key[name] = item[name]
	}

	return key
}

// CheckItem refuses an item whose attributes cannot be keys of the index. An item without
// them is left out of the index.
func (x *Index) CheckItem(item attr.Item, updated bool) error {
	var hash, sort int // bytes
	for i := range x.Keys.Count() {
		k := x.Keys.At(i)

		v, has := item[k.Name]
		if !has {
			continue
		}

		if v.Kind != k.Kind {
			if updated {
				return wire.Invalid("The update expression attempted to update the secondary index key to unsupported type")
			}

			return wire.Invalid("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
				k.Name, k.Kind, v.Kind, x.Name)
		}

		if v.Kind != attr.N && v.Str == "" {
			// An empty text or binary can be an attribute but no key.
			kind := "string"
			if v.Kind == attr.B {
				kind = "binary"
			}

			return wire.Invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
				"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", kind, x.Name, k.Name)
		}

		// The attributes of the partition key have one limit together, and so have the sort key's.
		if i < x.Keys.Hashes() {
			hash += v.Size()
		} else {
			sort += v.Size()
		}

		if hash > keyspace.MaxHashKey {
			return wire.Invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", keyspace.MaxHashKey)
		}

		if sort > keyspace.MaxRangeKey {
			return wire.Invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", keyspace.MaxRangeKey)
		}
	}

	return nil
}
