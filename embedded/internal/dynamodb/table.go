package dynamodb

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
)

// tableState is the part of a table that changes. A state is immutable: a change publishes a new state, and a
// writer goes on with the state that it loaded.
type tableState struct {
	record  tables.Record
	stream  *streams.Stream // nil while disabled
	deleted bool
}

// table is an open table.
type table struct {
	keyspace.Space // of its items
	name           string
	no             uint64
	state          atomic.Pointer[tableState]

	// count is the number of items, bytes the sum of their sizes.
	count, bytes atomic.Int64
	saved        counts   // as they are on disk; under Service.countsMu
	counters     sync.Map // *indexCounter by the number of the index
	room         pageRoom // of the table and its indexes
}

// counts is the number of a table's items and the sum of their sizes in bytes.
type counts struct{ Items, Bytes int64 }

func newTable(state *tableState) *table {
	r := &state.record
	t := &table{name: r.Name, no: r.No, Space: keyspace.Space{Keys: r.Keys, Prefix: keyspace.TablePrefix(keyspace.KindItem, r.No)}}
	t.state.Store(state)
	return t
}

// catalog holds the engine's tables. Reading it takes no lock.
type catalog struct {
	tables atomic.Pointer[map[string]*table]
	// ddl serializes the creation, change and deletion of tables.
	ddl sync.Mutex
	// numbers is the highest table number so far; under ddl. Numbers are never reused, so
	// that nothing of a deleted table can appear in a new one.
	numbers uint64
}

// get returns the table of that name, nil if there is none.
func (c *catalog) get(name string) *table {
	return (*c.tables.Load())[name]
}

// change publishes a copy of the catalog that edit has changed. The caller holds ddl.
func (c *catalog) change(edit func(map[string]*table)) {
	next := maps.Clone(*c.tables.Load())
	edit(next)
	c.tables.Store(&next)
}

func (s *Service) loadTables() error {
	all := map[string]*table{}
	prefix := keyspace.StoreKey(keyspace.KindTable)

	err := s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		state := &tableState{}
		if err := json.Unmarshal(v, &state.record); err != nil {
			return false, fmt.Errorf("read table %q: %w", k[2:], err)
		}

		r := &state.record

		// Streams are loaded before tables, so a missing one is a fault of the store.
		if r.StreamOn {
			if state.stream = s.streams.Lookup(r.StreamARN); state.stream == nil {
				return false, fmt.Errorf("read table %s: its stream %s is not in the store", r.Name, r.StreamARN)
			}
		}
		t := newTable(state)
		all[t.name] = t

		return true, nil
	})
	if err != nil {
		return err
	}

	for _, t := range all {
		if err := errors.Join(s.loadCounts(t), s.loadIndexCounts(t)); err != nil {
			return err
		}
	}
	s.tables.tables.Store(&all)

	return s.loadNumbers()
}

// loadNumbers reads the highest table number so far.
func (s *Service) loadNumbers() error {
	raw, ok, err := s.db.Get(keyspace.StoreKey(keyspace.KindCounts))
	if err != nil || !ok {
		return err
	}

	return json.Unmarshal(raw, &s.tables.numbers)
}

// nextNumber returns the number of a new table and stages that it is used. The caller holds
// ddl.
func (s *Service) nextNumber(b *store.Batch) uint64 {
	s.tables.numbers++
	b.Set(keyspace.StoreKey(keyspace.KindCounts), fmt.Append(nil, s.tables.numbers))

	return s.tables.numbers
}

// stageTable adds the table's record to the batch.
func stageTable(b *store.Batch, r *tables.Record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode table %s: %w", r.Name, err)
	}
	b.Set(keyspace.StoreKey(keyspace.KindTable, []byte(r.Name)...), raw)

	return nil
}

// arnPrefix returns the beginning of the ARNs of this engine's tables.
func (s *Service) arnPrefix() string {
	return s.regionPrefix() + s.cfg.AccountID + ":table/"
}

// regionPrefix returns the beginning of the ARNs of all tables in this engine's region, up to the account.
func (s *Service) regionPrefix() string { return "arn:aws:dynamodb:" + s.cfg.Region + ":" }

// keyPrefix returns the beginning of the ARNs of KMS keys.
func (s *Service) keyPrefix() string {
	return "arn:aws:kms:" + s.cfg.Region + ":" + s.cfg.AccountID + ":key/"
}

// lookup returns the table that a request names, by name or ARN. Its error has the words of the operations on
// items; see existingTable.
func (s *Service) lookup(name *string) (*table, error) {
	n, err := s.tableName(name)
	if err != nil {
		return nil, err
	}

	if t := s.tables.get(n); t != nil {
		return t, nil
	}

	return nil, tableMissing()
}

// tableName checks a TableName parameter, which may be an ARN, and returns the name.
func (s *Service) tableName(name *string) (string, error) {
	var c model.Constraints
	n := s.constrainTable(&c, name, "tableName")

	return n, c.Err()
}

// constrainTable checks a name of a table, which may be an ARN, and returns it without the ARN.
func (s *Service) constrainTable(c *model.Constraints, name *string, member string) string {
	if name == nil {
		c.Missing(member)
		return ""
	}

	n := *name
	if s.tables.get(n) != nil {
		return n // the name was checked when the table was created
	}

	if rest, ok := strings.CutPrefix(n, s.arnPrefix()); ok {
		n = rest
	}

	if n == "" {
		c.Length(0, "", member, 1, model.MaxName)
	} else {
		c.Name(n, member)
	}

	return n
}
