package dynamodb

import (
	"context"
	"fmt"
	"slices"

	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/store"
)

type updateTableIn struct{ tables.Update }

func (s *Service) updateTable(ctx context.Context, in *updateTableIn) (any, error) {
	if err := in.Check(func(c *model.Constraints) { s.constrainTable(c, in.TableName, "tableName") }); err != nil {
		return nil, err
	}
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	t, err := s.existingTable(in.TableName)
	if err != nil {
		return nil, err
	}

	before := t.state.Load()
	next := *before

	// Cloned, because the units of indexes are changed in place.
	next.record.Indexes = slices.Clone(next.record.Indexes)

	if err := in.Apply(&next.record, s.cfg.Clock.Now(), s.keyPrefix()); err != nil {
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
		err = s.saveState(t, &next)
	}

	if err != nil {
		return nil, err
	}

	return map[string]any{"TableDescription": s.describe(t, t.state.Load())}, nil
}

// switchStream enables or disables the table's stream, saves next and publishes it. The
// caller holds ddl.
func (s *Service) switchStream(t *table, next *tableState, spec *tables.StreamSpecification) error {
	b := s.db.NewBatch()
	commit := b.Commit
	now := s.cfg.Clock.Now()
	switch {
	case *spec.StreamEnabled && next.stream != nil:
		b.Discard()
		return invalid("Table already has an enabled stream: TableName: %s", t.name)
	case !*spec.StreamEnabled && next.stream == nil:
		b.Discard()
		return invalid("Table has no stream to disable: TableName: %s", t.name)
	case *spec.StreamEnabled:
		if err := s.enableStream(b, next, now, spec.StreamViewType); err != nil {
			b.Discard()
			return err
		}
	default:
		// Writers that still hold the old state find no open shard.
		old := next.stream
		next.stream, next.record.StreamOn = nil, false
		commit = func() error { return s.streams.Disable(b, old, now) }
	}

	if err := stageAndCommit(b, next, commit); err != nil {
		return fmt.Errorf("change the stream of table %s: %w", t.name, err)
	}

	// The stream is added before the state is published: a caller that sees the new ARN
	// must find the stream.
	if next.stream != nil {
		s.streams.Add(next.stream)
	}
	t.state.Store(next)

	return nil
}

func stageAndCommit(b *store.Batch, next *tableState, commit func() error) error {
	if err := stageTable(b, &next.record); err != nil {
		b.Discard()
		return err
	}

	return commit()
}
