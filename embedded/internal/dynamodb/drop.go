package dynamodb

import (
	"context"
	"fmt"
	"time"

	"ratchet/embedded/internal/wire"
)

func (s *Service) deleteTable(_ context.Context, in *tableIn) (any, error) {
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	t, err := s.known(in.TableName)
	if err != nil {
		return nil, err
	}

	state := t.state.Load()
	if state.record.DeletionProtection {
		return nil, wire.Errorf("ValidationException",
			"Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	dropped := *state
	dropped.dropped = true
	t.state.Store(&dropped)
	s.tables.change(func(all map[string]*table) { delete(all, t.name) })
	// From here no new writer gets in; the ones inside finish first, so that
	// nothing is written behind the deletion.
	s.stripes.pass()

	if err := s.erase(t, state); err != nil {
		return nil, fmt.Errorf("delete table %s: %w", t.name, err)
	}
	d := s.describe(t, state)
	d["TableStatus"] = "DELETING"

	return map[string]any{"TableDescription": d}, nil
}

// erase removes everything of the table in one batch. Its stream is disabled and
// stays readable, as on AWS.
func (s *Service) erase(t *table, state *tableState) error {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	b := s.db.NewBatch()
	b.Delete(storeKey(kindTable, []byte(t.name)...))
	b.Delete(tablePrefix(kindCounts, t.no))
	b.DeleteRange(t.items, after(t.items))
	expiries := tablePrefix(kindExpiry, t.no)
	b.DeleteRange(expiries, after(expiries))

	if state.stream != nil {
		return s.streams.Disable(b, state.stream, time.Now())
	}

	return b.Commit()
}
