package catalog

import (
	"sync"
	"sync/atomic"

	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/streams"
)

// State is the part of a table that changes. A state is immutable: a change publishes a new state, and a
// writer goes on with the state that it loaded.
type State struct {
	Record  tables.Record
	Stream  *streams.Stream // nil while disabled
	Deleted bool
}

// Table is an open table.
type Table struct {
	keyspace.Space // of its items
	Name           string
	No             uint64
	state          atomic.Pointer[State]

	// count is the number of items, bytes the sum of their sizes.
	count, bytes atomic.Int64
	saved        counts   // as they are on disk; under Catalog.countsMu
	counters     sync.Map // *indexCounter by the number of the index
	Room         pageRoom // of the table and its indexes
}

// counts is the number of a table's items and the sum of their sizes in bytes.
type counts struct{ Items, Bytes int64 }

// NewTable returns a table in that state.
func NewTable(state *State) *Table {
	r := &state.Record
	t := &Table{Name: r.Name, No: r.No, Space: keyspace.Space{Keys: r.Keys, Prefix: keyspace.TablePrefix(keyspace.KindItem, r.No)}}
	t.state.Store(state)
	return t
}

// State returns the newest state.
func (t *Table) State() *State { return t.state.Load() }

// Publish makes a state the newest one, once it is on disk.
func (t *Table) Publish(next *State) { t.state.Store(next) }
