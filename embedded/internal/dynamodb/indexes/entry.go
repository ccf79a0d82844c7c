package indexes

import (
	"bytes"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/store"
)

// Entry is an item's entry in one index: nil key and value for none.
type Entry struct {
	Key   []byte
	Value stored.Item
}

// EntryOf returns the entry of an item, none if the index does not cover it. primaryKey is the item's own store key.
func (x *Index) EntryOf(table *keyspace.Space, item attr.Item, primaryKey []byte) (e Entry) {
	if !x.covers(item) {
		return e
	}

	projected := x.project(table, item)
	e.Key, e.Value = x.EntryKey(table, item, primaryKey), stored.New(projected, projected.Size())

	return e
}

// Change is the effect of an item's change on its entry in one index.
type Change struct {
	Index    *Index
	Old, New Entry
}

// Units returns the write units of the change: the units of the larger entry, or of both entries if
// the entry moves to another key.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes
func (x *Change) Units() capacity.Units {
	switch {
	case x.Old.Key == nil && x.New.Key == nil, bytes.Equal(x.Old.Key, x.New.Key) && bytes.Equal(x.Old.Value, x.New.Value):
		return 0
	case x.Old.Key == nil:
		return capacity.Write(x.New.Value.Size())
	case x.New.Key == nil:
		return capacity.Write(x.Old.Value.Size())
	case bytes.Equal(x.Old.Key, x.New.Key):
		return capacity.Write(max(x.Old.Value.Size(), x.New.Value.Size()))
	}

	return capacity.Write(x.Old.Value.Size()) + capacity.Write(x.New.Value.Size())
}

// Stage adds the change to the batch.
func (x *Change) Stage(b *store.Batch) {
	// An entry that keeps its key is overwritten.
	if x.Old.Key != nil && !bytes.Equal(x.Old.Key, x.New.Key) {
		b.Delete(x.Old.Key)
	}

	if x.New.Key != nil && !(bytes.Equal(x.Old.Key, x.New.Key) && bytes.Equal(x.Old.Value, x.New.Value)) {
		b.Set(x.New.Key, x.New.Value)
	}
}

// StageDeletion adds the deletion of the index's entries and counts to the batch.
func (x *Index) StageDeletion(b *store.Batch) {
	prefix := x.Space().Prefix
	b.DeleteRange(prefix, store.PrefixEnd(prefix))
	b.Delete(keyspace.TablePrefix(keyspace.KindCounts, x.No))
}
