package dynamodb

import (
	"context"
	"fmt"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/indexes"
)

// changeIndexes saves and publishes next, which is before with other indexes. Then it enters the items into a
// new index and deletes the entries of a removed one. The caller holds ddl.
func (s *Service) changeIndexes(ctx context.Context, t *table, before, next *tableState) error {
	b := s.db.NewBatch()
	for i := range next.record.Indexes {
		// A new index. A number of its own keeps it apart from the entries of a removed index that
		// had the same name.
		if next.record.Indexes[i].No == 0 {
			next.record.Indexes[i].No = s.nextNumber(b)
		}
	}

	if err := stageAndCommit(b, next, b.Commit); err != nil {
		return err
	}
	t.state.Store(next)

	// Writers with the old state do not maintain a new index, and still write to a removed one: they
	// must end first.
	s.stripes.WaitForWriters()

	for i := range before.record.Indexes {
		x := &before.record.Indexes[i]
		if next.record.IndexNamed(x.Name) != nil {
			continue
		}

		b := s.db.NewBatch()
		x.StageDeletion(b)

		if err := b.Commit(); err != nil {
			return err
		}
		t.counters.Delete(x.No)
	}

	err := s.buildIndexes(ctx, t)
	s.resumeAfter(ctx, err)

	return err
}

// buildIndexes enters the table's items into the indexes that are being built. Writers
// maintain these indexes meanwhile. The caller holds ddl.
func (s *Service) buildIndexes(ctx context.Context, t *table) error {
	next := *t.state.Load()
	next.record.Indexes = slices.Clone(next.record.Indexes)

	var building []*indexes.Index
	for i := range next.record.Indexes {
		if next.record.Indexes[i].Building {
			building = append(building, &next.record.Indexes[i])
		}
	}

	if len(building) == 0 {
		return nil
	}

	err := s.eachItem(ctx, t, func(key []byte, item attr.Item) error { return s.indexItem(t, building, key, item) })
	if err != nil {
		return err
	}

	// Batches reach the disk in their order: when this record is on disk, the entries are, too.
	for _, x := range building {
		x.Building = false
	}

	if err := s.saveState(t, &next); err != nil {
		return fmt.Errorf("build the indexes of table %s: %w", t.name, err)
	}

	// A crash must not lose these counts: the entries are never counted again.
	return s.saveCounts()
}

// indexItem enters one item into the indexes. An item that cannot be in an index is left out,
// as on AWS. The caller holds the item's stripe.
func (s *Service) indexItem(t *table, building []*indexes.Index, key []byte, item attr.Item) error {
	b := s.db.NewBatch()
	var changes []indexes.Change

	for _, x := range building {
		c := indexes.Change{Index: x, New: x.EntryOf(&t.Space, item, key)}
		if c.New.Key == nil {
			continue
		}

		// An entry that is there is up to date, because writers maintain the index.
		if _, entered, err := s.db.Get(c.New.Key); err != nil || entered {
			if err != nil {
				b.Discard()
				return err
			}

			continue // by a writer, or before a stop
		}

		c.Stage(b)
		changes = append(changes, c)
	}

	if b.Empty() {
		b.Discard()
		return nil
	}

	if err := b.CommitLater(); err != nil { // the last commit of buildIndexes flushes them all
		return err
	}
	(&change{action: &action{table: t}, indexes: changes}).countIndexes()

	return nil
}
