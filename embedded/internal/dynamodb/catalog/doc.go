// Package catalog has the open tables: their names and ARNs, their newest states, and how many items and entries they have.
//
// A [Catalog] finds a table without a lock. Who creates, changes or deletes one holds [Catalog.DDL], and publishes what has
// changed when it is on disk: a [State] is immutable, and a writer goes on with the one that it loaded.
package catalog
