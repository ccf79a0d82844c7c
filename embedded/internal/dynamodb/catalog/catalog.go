package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
)

// Catalog holds the engine's tables. Reading it takes no lock.
type Catalog struct {
	db              *store.DB
	streams         *streams.Service
	region, account string

	tables atomic.Pointer[map[string]*Table]
	// DDL serializes the creation, change and deletion of tables.
	DDL sync.Mutex
	// numbers is the highest table number so far; under DDL. Numbers are never reused, so
	// that nothing of a deleted table can appear in a new one.
	numbers uint64
	// countsMu is held while the tables' counts are saved.
	countsMu sync.Mutex
}

// New loads the tables that db holds. Their streams live in s. The region and the account are those of ARNs.
func New(db *store.DB, s *streams.Service, region, account string) (*Catalog, error) {
	c := &Catalog{db: db, streams: s, region: region, account: account}

	return c, c.loadTables()
}

// All returns the tables by their names. The caller changes nothing in it.
func (c *Catalog) All() map[string]*Table { return *c.tables.Load() }

// Get returns the table of that name, nil if there is none.
func (c *Catalog) Get(name string) *Table {
	return (*c.tables.Load())[name]
}

// Add publishes the catalog with another table. The caller holds DDL.
func (c *Catalog) Add(t *Table) { c.change(func(all map[string]*Table) { all[t.Name] = t }) }

// Remove publishes the catalog without a table. The caller holds DDL.
func (c *Catalog) Remove(t *Table) { c.change(func(all map[string]*Table) { delete(all, t.Name) }) }

// change publishes a copy of the catalog that edit has changed. The caller holds DDL.
func (c *Catalog) change(edit func(map[string]*Table)) {
	next := maps.Clone(*c.tables.Load())
	edit(next)
	c.tables.Store(&next)
}

func (c *Catalog) loadTables() error {
	all := map[string]*Table{}
	prefix := keyspace.StoreKey(keyspace.KindTable)

	err := c.db.Scan(prefix, store.PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		state := &State{}
		if err := json.Unmarshal(v, &state.Record); err != nil {
			return false, fmt.Errorf("read table %q: %w", k[2:], err)
		}

		r := &state.Record

		// Streams are loaded before tables, so a missing one is a fault of the store.
		if r.StreamOn {
			if state.Stream = c.streams.Lookup(r.StreamARN); state.Stream == nil {
				return false, fmt.Errorf("read table %s: its stream %s is not in the store", r.Name, r.StreamARN)
			}
		}
		t := NewTable(state)
		all[t.Name] = t

		return true, nil
	})
	if err != nil {
		return err
	}

	for _, t := range all {
		if err := errors.Join(c.loadCounts(t), c.loadIndexCounts(t)); err != nil {
			return err
		}
	}
	c.tables.Store(&all)

	return c.loadNumbers()
}

// loadNumbers reads the highest table number so far.
func (c *Catalog) loadNumbers() error {
	raw, ok, err := c.db.Get(keyspace.StoreKey(keyspace.KindCounts))
	if err != nil || !ok {
		return err
	}

	return json.Unmarshal(raw, &c.numbers)
}

// NextNumber returns the number of a new table and stages that it is used. The caller holds
// DDL.
func (c *Catalog) NextNumber(b *store.Batch) uint64 {
	c.numbers++
	b.Set(keyspace.StoreKey(keyspace.KindCounts), fmt.Append(nil, c.numbers))

	return c.numbers
}

// Stage adds the table's record to the batch.
func Stage(b *store.Batch, r *tables.Record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode table %s: %w", r.Name, err)
	}
	b.Set(keyspace.StoreKey(keyspace.KindTable, []byte(r.Name)...), raw)

	return nil
}

// Save saves a table's new state and publishes it to writers. The caller holds DDL.
func (c *Catalog) Save(t *Table, next *State) error {
	b := c.db.NewBatch()
	if err := Stage(b, &next.Record); err != nil {
		b.Discard()
		return err
	}

	if err := b.Commit(); err != nil {
		return err
	}

	// The state is published only now, so that no writer uses a state that a crash could undo.
	t.Publish(next)

	return nil
}
