package dynamodb

import (
	"encoding/json"
	"fmt"
	"sync/atomic"

	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/store"
)

// indexCounter counts the entries of one index and their bytes.
type indexCounter struct {
	items, bytes atomic.Int64
	saved        counts // as the store has them; under Service.countsMu
}

// counter returns the counter of an index.
func (t *table) counter(x *indexes.Index) *indexCounter {
	c, ok := t.counters.Load(x.No)
	if !ok {
		// Two writers may count the first entries at once.
		c, _ = t.counters.LoadOrStore(x.No, &indexCounter{})
	}

	return c.(*indexCounter)
}

// indexCounts returns the number of an index's entries and the sum of their sizes.
func (t *table) indexCounts(x *indexes.Index) tables.Size {
	c := t.counter(x)
	return tables.Size{Items: max(0, c.items.Load()), Bytes: max(0, c.bytes.Load())}
}

// countIndexes counts the entries of a change that is on disk.
func (c *change) countIndexes() {
	for i := range c.indexes {
		x := &c.indexes[i]
		counter := c.table.counter(x.Index)

		if x.New.Key != nil {
			counter.items.Add(1)
		}

		if x.Old.Key != nil {
			counter.items.Add(-1)
		}

		counter.bytes.Add(int64(x.New.Value.Size() - x.Old.Value.Size()))
	}
}

// loadIndexCounts reads the counts of the table's indexes.
func (s *Service) loadIndexCounts(t *table) error {
	all := t.state.Load().record.Indexes
	for i := range all {
		raw, ok, err := s.db.Get(keyspace.TablePrefix(keyspace.KindCounts, all[i].No))
		if err != nil {
			return err
		}

		if !ok {
			continue
		}

		c := t.counter(&all[i])
		if err := json.Unmarshal(raw, &c.saved); err != nil {
			return fmt.Errorf("read the counts of index %s of table %s: %w", all[i].Name, t.name, err)
		}

		c.items.Store(c.saved.Items)
		c.bytes.Store(c.saved.Bytes)
	}

	return nil
}

// stageIndexCounts adds the counts of the table's indexes that have changed. The caller holds
// countsMu.
func (t *table) stageIndexCounts(b *store.Batch) error {
	all := t.state.Load().record.Indexes
	for i := range all {
		c := t.counter(&all[i])

		now := counts{c.items.Load(), c.bytes.Load()}
		if now == c.saved {
			continue
		}

		raw, err := json.Marshal(now)
		if err != nil {
			return fmt.Errorf("encode the counts of index %s of table %s: %w", all[i].Name, t.name, err)
		}

		c.saved = now
		b.Set(keyspace.TablePrefix(keyspace.KindCounts, all[i].No), raw)
	}

	return nil
}
