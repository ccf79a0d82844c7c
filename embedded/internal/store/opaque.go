package store

import "github.com/cockroachdb/pebble/v2"

// The structs and the methods that other packages see name no type of Pebble, and their bodies are not inlined there
// (go:noinline, where they are short). The compiler instantiates the generic types within pebble.DB in each package that
// comes across it, also through a field of a field: 5 MB of object code, and a second, in each of some 150 packages. That the
// packages stay free of them shows TestPackagesInstantiateNothingOfPebble in tests/layout.

// pebbleOf returns the database that Open has opened.
func pebbleOf(d *DB) *pebble.DB {
	db, _ := d.kv.(*pebble.DB)
	return db
}

// changesOf returns the changes of a batch.
func changesOf(b *Batch) *pebble.Batch {
	changes, _ := b.kv.(*pebble.Batch)
	return changes
}
