package catalog

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
	saved        counts // as the store has them; under Catalog.countsMu
}

// counter returns the counter of an index.
func (t *Table) counter(x *indexes.Index) *indexCounter {
	c, ok := t.counters.Load(x.No)
	if !ok {
		// Two writers may count the first entries at once.
		c, _ = t.counters.LoadOrStore(x.No, &indexCounter{})
	}

	return c.(*indexCounter)
}

// IndexCounts returns the number of an index's entries and the sum of their sizes.
func (t *Table) IndexCounts(x *indexes.Index) tables.Size {
	c := t.counter(x)
	return tables.Size{Items: max(0, c.items.Load()), Bytes: max(0, c.bytes.Load())}
}

// CountEntries counts the entries of a change that is on disk.
func (t *Table) CountEntries(changes []indexes.Change) {
	for i := range changes {
		x := &changes[i]
		counter := t.counter(x.Index)

		if x.New.Key != nil {
			counter.items.Add(1)
		}

		if x.Old.Key != nil {
			counter.items.Add(-1)
		}

		counter.bytes.Add(int64(x.New.Value.Size() - x.Old.Value.Size()))
	}
}

// ForgetIndex forgets the counts of an index that is gone.
func (t *Table) ForgetIndex(x *indexes.Index) { t.counters.Delete(x.No) }

// loadIndexCounts reads the counts of the table's indexes.
func (c *Catalog) loadIndexCounts(t *Table) error {
	all := t.State().Record.Indexes
	for i := range all {
		raw, ok, err := c.db.Get(keyspace.TablePrefix(keyspace.KindCounts, all[i].No))
		if err != nil {
			return err
		}

		if !ok {
			continue
		}

		counter := t.counter(&all[i])
		if err := json.Unmarshal(raw, &counter.saved); err != nil {
			return fmt.Errorf("read the counts of index %s of table %s: %w", all[i].Name, t.Name, err)
		}

		counter.items.Store(counter.saved.Items)
		counter.bytes.Store(counter.saved.Bytes)
	}

	return nil
}

// stageIndexCounts adds the counts of the table's indexes that have changed. The caller holds
// countsMu.
func (t *Table) stageIndexCounts(b *store.Batch) error {
	all := t.State().Record.Indexes
	for i := range all {
		c := t.counter(&all[i])

		now := counts{c.items.Load(), c.bytes.Load()}
		if now == c.saved {
			continue
		}

		raw, err := json.Marshal(now)
		if err != nil {
			return fmt.Errorf("encode the counts of index %s of table %s: %w", all[i].Name, t.Name, err)
		}

		c.saved = now
		b.Set(keyspace.TablePrefix(keyspace.KindCounts, all[i].No), raw)
	}

	return nil
}
