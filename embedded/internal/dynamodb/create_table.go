package dynamodb

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

// createTableIn and updateTableIn are types of this package, because the messages about wrong shapes name them.
type createTableIn struct{ tables.Create }

func (s *Service) createTable(_ context.Context, in *createTableIn) (any, error) {
	var name string
	if err := in.Constrain(func(c *model.Constraints) { name = s.tables.ConstrainTable(c, in.TableName, "tableName") }); err != nil {
		return nil, err
	}

	record, err := in.Record(name, s.tables.KeyARNs())
	if err != nil {
		return nil, err
	}
	s.tables.DDL.Lock()
	defer s.tables.DDL.Unlock()

	// The call holds DDL, so that no other call can create the table after this check.
	if s.tables.Get(name) != nil {
		return nil, wire.Errorf("ResourceInUseException", "Table already exists: %s", name)
	}
	now := s.cfg.Clock.Now()

	b := s.db.NewBatch()

	// Numbers are used up even if the batch fails: they only have to be unique.
	record.Created, record.BillingSince, record.No, record.ID = now, now, s.tables.NextNumber(b), newTableID()
	for i := range record.Indexes {
		record.Indexes[i].No = s.tables.NextNumber(b)
	}

	state := &catalog.State{Record: *record}
	if spec := in.StreamSpecification; spec != nil && *spec.StreamEnabled {
		if err := s.enableStream(b, state, now, spec.StreamViewType); err != nil {
			b.Discard()
			return nil, err
		}
	}

	if err := catalog.Stage(b, &state.Record); err != nil {
		b.Discard()
		return nil, err
	}

	if err := b.Commit(); err != nil {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}

	// The table is published only now: no other call may see a table that a crash could undo.
	if state.Stream != nil {
		s.streams.Add(state.Stream)
	}
	t := catalog.NewTable(state)
	s.tables.Add(t)

	return map[string]any{"TableDescription": s.describe(t, state)}, nil
}

func newTableID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails

	// The version and the variant of a random UUID.
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80

	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// enableStream stages a new stream of the table and enters it into state.
func (s *Service) enableStream(b *store.Batch, state *catalog.State, now time.Time, view string) error {
	r := &state.Record

	st, err := s.streams.Create(b, now, streams.Spec{Table: r.Name, View: streams.View(view), HashKey: r.Keys.Hash.Name, RangeKey: r.Keys.Range.Name})
	if err != nil {
		return err
	}
	state.Stream, r.StreamARN, r.StreamOn = st, st.ARN(), true

	return nil
}
