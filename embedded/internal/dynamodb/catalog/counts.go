package catalog

import (
	"encoding/json"
	"fmt"

	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/tables"
)

func (c *Catalog) loadCounts(t *Table) error {
	raw, ok, err := c.db.Get(keyspace.TablePrefix(keyspace.KindCounts, t.No))
	if err != nil || !ok {
		return err
	}

	if err := json.Unmarshal(raw, &t.saved); err != nil {
		return fmt.Errorf("read the counts of table %s: %w", t.Name, err)
	}
	t.count.Store(t.saved.Items)
	t.bytes.Store(t.saved.Bytes)

	return nil
}

// SaveCounts writes the counts that have changed since it last ran. They are not part of the
// items' batches, so a crash loses the changes since the last save. DynamoDB's own counts
// are hours old.
func (c *Catalog) SaveCounts() error {
	c.countsMu.Lock()
	defer c.countsMu.Unlock()

	b := c.db.NewBatch()
	for _, t := range *c.tables.Load() {
		if err := t.stageIndexCounts(b); err != nil {
			b.Discard()
			return err
		}

		now := counts{t.count.Load(), t.bytes.Load()}
		if now == t.saved {
			continue
		}

		// Noted before the commit; forgetSavedCounts takes it back if the commit fails.
		t.saved = now
		raw, err := json.Marshal(now)
		if err != nil {
			b.Discard()
			return fmt.Errorf("encode the counts of table %s: %w", t.Name, err)
		}
		b.Set(keyspace.TablePrefix(keyspace.KindCounts, t.No), raw)
	}

	if b.Empty() {
		b.Discard()
		return nil
	}

	if err := b.Commit(); err != nil {
		c.forgetSavedCounts()
		return err
	}

	return nil
}

// forgetSavedCounts lets the next save write all counts. The caller holds countsMu.
func (c *Catalog) forgetSavedCounts() {
	none := counts{-1, -1}
	for _, t := range *c.tables.Load() {
		t.saved = none

		t.counters.Range(func(_, c any) bool {
			c.(*indexCounter).saved = none
			return true
		})
	}
}

// WhileNotSaving calls fn while no counts are saved.
func (c *Catalog) WhileNotSaving(fn func() error) error {
	c.countsMu.Lock()
	defer c.countsMu.Unlock()

	return fn()
}

// CountItems counts items that are on disk, or fewer of them, with the sum of their sizes.
func (t *Table) CountItems(items, bytes int64) {
	if items != 0 {
		t.count.Add(items)
	}
	t.bytes.Add(bytes)
}

// Size returns the number of items and the sum of their sizes. The counts can be below 0: a crash loses counted insertions,
// and deletions follow.
func (t *Table) Size() tables.Size {
	return tables.Size{Items: max(0, t.count.Load()), Bytes: max(0, t.bytes.Load())}
}
