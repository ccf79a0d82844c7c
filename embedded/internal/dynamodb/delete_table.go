package dynamodb

import (
	"context"
	"fmt"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

func (s *Service) deleteTable(_ context.Context, in *tableIn) (any, error) {
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	t, err := s.existingTable(in.TableName)
	if err != nil {
		return nil, err
	}

	state := t.state.Load()
	if state.record.DeletionProtection {
		return nil, wire.Errorf("ValidationException",
			"Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}

	// New writers see that the table is gone. Those that hold the old state must end before
	// the data is deleted, or they would write behind the deletion.
	gone := *state
	gone.deleted = true
	t.state.Store(&gone)
	s.tables.change(func(all map[string]*table) { delete(all, t.name) })
	s.stripes.waitForWriters()

	if err := s.deleteData(t, state); err != nil {
		return nil, fmt.Errorf("delete table %s: %w", t.name, err)
	}
	d := s.describe(t, state)
	d["TableStatus"] = "DELETING"

	return map[string]any{"TableDescription": d}, nil
}

// deleteData deletes the table, its items and their expiries in one batch. The stream
// is disabled and stays readable, as on AWS.
func (s *Service) deleteData(t *table, state *tableState) error {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()

	b := s.db.NewBatch()
	b.Delete(storeKey(kindTable, []byte(t.name)...))
	b.Delete(tablePrefix(kindCounts, t.no))
	b.DeleteRange(t.items, store.PrefixEnd(t.items))
	expiries := tablePrefix(kindExpiry, t.no)
	b.DeleteRange(expiries, store.PrefixEnd(expiries))

	for i := range state.record.Indexes {
		state.record.Indexes[i].stageDeletion(b)
	}

	if state.stream != nil {
		return s.streams.Disable(b, state.stream, s.cfg.Clock.Now())
	}

	return b.Commit()
}
