package dynamodb

import (
	"context"
	"fmt"
	"slices"

	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/store"
)

type updateTableIn struct{ tables.Update }

func (s *Service) updateTable(ctx context.Context, in *updateTableIn) (any, error) {
	if err := in.Check(func(c *model.Constraints) { s.tables.ConstrainTable(c, in.TableName, "tableName") }); err != nil {
		return nil, err
	}
	s.tables.DDL.Lock()
	defer s.tables.DDL.Unlock()

	t, err := s.tables.Existing(in.TableName)
	if err != nil {
		return nil, err
	}

	before := t.State()
	next := *before

	// Cloned, because the units of indexes are changed in place.
	next.Record.Indexes = slices.Clone(next.Record.Indexes)

	if err := in.Apply(&next.Record, s.cfg.Clock.Now(), s.tables.KeyARNs()); err != nil {
		return nil, err
	}

	switch {
	// check refuses a request that also creates or deletes an index. All other changes
	// are saved with next.
	case in.StreamSpecification != nil:
		err = s.switchStream(t, &next, in.StreamSpecification)
	case len(in.GlobalSecondaryIndexUpdates) > 0:
		err = s.changeIndexes(ctx, t, before, &next)
	default:
		err = s.tables.Save(t, &next)
	}

	if err != nil {
		return nil, err
	}

	return map[string]any{"TableDescription": s.describe(t, t.State())}, nil
}

// switchStream enables or disables the table's stream, saves next and publishes it. The
// caller holds DDL.
func (s *Service) switchStream(t *catalog.Table, next *catalog.State, spec *tables.StreamSpecification) error {
	b := s.db.NewBatch()
	commit := b.Commit
	now := s.cfg.Clock.Now()
	switch {
	case *spec.StreamEnabled && next.Stream != nil:
		b.Discard()
		return invalid("Table already has an enabled stream: TableName: %s", t.Name)
	case !*spec.StreamEnabled && next.Stream == nil:
		b.Discard()
		return invalid("Table has no stream to disable: TableName: %s", t.Name)
	case *spec.StreamEnabled:
		if err := s.enableStream(b, next, now, spec.StreamViewType); err != nil {
			b.Discard()
			return err
		}
	default:
		// Writers that still hold the old state find no open shard.
		old := next.Stream
		next.Stream, next.Record.StreamOn = nil, false
		commit = func() error { return s.streams.Disable(b, old, now) }
	}

	if err := stageAndCommit(b, next, commit); err != nil {
		return fmt.Errorf("change the stream of table %s: %w", t.Name, err)
	}

	// The stream is added before the state is published: a caller that sees the new ARN
	// must find the stream.
	if next.Stream != nil {
		s.streams.Add(next.Stream)
	}
	t.Publish(next)

	return nil
}

func stageAndCommit(b *store.Batch, next *catalog.State, commit func() error) error {
	if err := catalog.Stage(b, &next.Record); err != nil {
		b.Discard()
		return err
	}

	return commit()
}
