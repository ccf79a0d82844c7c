package dynamodb

import (
	"context"
	"fmt"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/indexes"
)

// changeIndexes saves and publishes next, which is before with other indexes. Then it enters the items into a
// new index and deletes the entries of a removed one. The caller holds DDL.
func (s *Service) changeIndexes(ctx context.Context, t *catalog.Table, before, next *catalog.State) error {
	b := s.db.NewBatch()
	for i := range next.Record.Indexes {
		// A new index. A number of its own keeps it apart from the entries of a removed index that
		// had the same name.
		if next.Record.Indexes[i].No == 0 {
			next.Record.Indexes[i].No = s.tables.NextNumber(b)
		}
	}

	if err := stageAndCommit(b, next, b.Commit); err != nil {
		return err
	}
	t.Publish(next)

	// Writers with the old state do not maintain a new index, and still write to a removed one: they
	// must end first.
	s.stripes.WaitForWriters()

	for i := range before.Record.Indexes {
		x := &before.Record.Indexes[i]
		if next.Record.IndexNamed(x.Name) != nil {
			continue
		}

		b := s.db.NewBatch()
		x.StageDeletion(b)

		if err := b.Commit(); err != nil {
			return err
		}
		t.ForgetIndex(x)
	}

	err := s.buildIndexes(ctx, t)
	s.resumeAfter(ctx, err)

	return err
}

// buildIndexes enters the table's items into the indexes that are being built. Writers
// maintain these indexes meanwhile. The caller holds DDL.
func (s *Service) buildIndexes(ctx context.Context, t *catalog.Table) error {
	next := *t.State()
	next.Record.Indexes = slices.Clone(next.Record.Indexes)

	var building []*indexes.Index
	for i := range next.Record.Indexes {
		if next.Record.Indexes[i].Building {
			building = append(building, &next.Record.Indexes[i])
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

	if err := s.tables.Save(t, &next); err != nil {
		return fmt.Errorf("build the indexes of table %s: %w", t.Name, err)
	}

	// A crash must not lose these counts: the entries are never counted again.
	return s.tables.SaveCounts()
}

// indexItem enters one item into the indexes. An item that cannot be in an index is left out,
// as on AWS. The caller holds the item's stripe.
func (s *Service) indexItem(t *catalog.Table, building []*indexes.Index, key []byte, item attr.Item) error {
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
	t.CountEntries(changes)

	return nil
}
