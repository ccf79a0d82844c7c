package dynamodb

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

// tableRecord is what the store keeps of a table.
type tableRecord struct {
	Name    string    `json:"name"`
	No      uint64    `json:"no"`
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Keys    keySchema `json:"keys"`

	Billing            string            `json:"billing"`
	BillingSince       time.Time         `json:"billingSince,omitzero"`
	ReadUnits          int64             `json:"readUnits,omitempty"`
	WriteUnits         int64             `json:"writeUnits,omitempty"`
	DeletionProtection bool              `json:"deletionProtection,omitempty"`
	Class              string            `json:"class,omitempty"`
	Tags               map[string]string `json:"tags,omitempty"`

	// StreamARN names the newest stream, StreamOn tells whether it is enabled.
	StreamARN string `json:"streamArn,omitempty"`
	StreamOn  bool   `json:"streamOn,omitempty"`

	// TTL names the attribute that holds an item's expiry, empty when off.
	// TTLIndexing is set while items older than that decision are being indexed.
	TTL         string    `json:"ttl,omitempty"`
	TTLIndexing bool      `json:"ttlIndexing,omitempty"`
	TTLChanged  time.Time `json:"ttlChanged,omitzero"`
}

// tableState is what writers need of the parts of a table that change.
type tableState struct {
	record  tableRecord
	stream  *streams.Stream // nil while disabled
	dropped bool
}

// table is an open table.
type table struct {
	name  string
	no    uint64
	keys  keySchema
	items []byte // what the store keys of its items start with
	state atomic.Pointer[tableState]

	// count and bytes are the items and their sizes.
	count, bytes atomic.Int64
	saved        counts // what the store holds of them; used by one goroutine at a time
}

// counts is how many items a table has and how many bytes they take.
type counts struct{ Items, Bytes int64 }

func newTable(state *tableState) *table {
	r := &state.record
	t := &table{name: r.Name, no: r.No, keys: r.Keys, items: tablePrefix(kindItem, r.No)}
	t.state.Store(state)
	return t
}

// catalog is the tables of the engine. Reading it takes no lock.
type catalog struct {
	tables atomic.Pointer[map[string]*table]
	// ddl makes changes of tables wait for each other.
	ddl sync.Mutex
	// numbers given to tables; under ddl. They are never reused: what a dropped
	// table left behind can never show up in a new one.
	numbers uint64
}

// get finds a table by its name or ARN.
func (c *catalog) get(name string) *table {
	return (*c.tables.Load())[name]
}

// change replaces the catalog by one that edit has changed. Under ddl.
func (c *catalog) change(edit func(map[string]*table)) {
	next := maps.Clone(*c.tables.Load())
	edit(next)
	c.tables.Store(&next)
}

func (s *Service) loadTables() error {
	all := map[string]*table{}
	prefix := storeKey(kindTable)

	err := s.db.Scan(prefix, after(prefix), false, func(k, v []byte) (bool, error) {
		state := &tableState{}
		if err := json.Unmarshal(v, &state.record); err != nil {
			return false, fmt.Errorf("read table %q: %w", k[2:], err)
		}

		r := &state.record
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
		if err := s.loadCounts(t); err != nil {
			return err
		}
	}
	s.tables.tables.Store(&all)

	return s.loadNumbers()
}

// loadNumbers reads the highest table number ever given.
func (s *Service) loadNumbers() error {
	raw, ok, err := s.db.Get(storeKey(kindCounts))
	if err != nil || !ok {
		return err
	}

	return json.Unmarshal(raw, &s.tables.numbers)
}

// nextNumber gives a new table its number and stages that it is taken. Under ddl.
func (s *Service) nextNumber(b *store.Batch) uint64 {
	s.tables.numbers++
	b.Set(storeKey(kindCounts), fmt.Append(nil, s.tables.numbers))
	return s.tables.numbers
}

// stageTable puts the table's record into b.
func stageTable(b *store.Batch, r *tableRecord) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode table %s: %w", r.Name, err)
	}
	b.Set(storeKey(kindTable, []byte(r.Name)...), raw)

	return nil
}

// arnPrefix is what the ARNs of this engine's tables start with.
func (s *Service) arnPrefix() string {
	return "arn:aws:dynamodb:" + s.cfg.Region + ":" + s.cfg.AccountID + ":table/"
}

// lookup finds the table a request names, by name or ARN.
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

// tableName checks a TableName parameter and takes the name out of an ARN.
func (s *Service) tableName(name *string) (string, error) {
	if name == nil {
		return "", wire.Missing("tableName")
	}

	n := *name
	if s.tables.get(n) != nil {
		return n, nil // a table's name has been checked when it was created
	}

	if rest, ok := strings.CutPrefix(n, s.arnPrefix()); ok {
		n = rest
	}

	return n, checkTableName(n)
}

func checkTableName(n string) error {
	const pattern = "[a-zA-Z0-9_.-]+"

	if n == "" {
		return wire.BadParameter("''", "tableName", "Member must have length greater than or equal to 1")
	}

	for i := range len(n) {
		c := n[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return wire.BadParameter("'"+n+"'", "tableName", "Member must satisfy regular expression pattern: "+pattern)
		}
	}

	if len(n) < 3 || len(n) > 255 {
		return invalid("TableName must be at least 3 characters long and at most 255 characters long")
	}

	return nil
}

var keyKinds = map[string]attr.Kind{"S": attr.S, "N": attr.N, "B": attr.B}
