package dynamodb

import (
	"encoding/json"
	"fmt"

	"ratchet/embedded/internal/dynamodb/keyspace"
)

func (s *Service) loadCounts(t *table) error {
	raw, ok, err := s.db.Get(keyspace.TablePrefix(keyspace.KindCounts, t.no))
	if err != nil || !ok {
		return err
	}

	if err := json.Unmarshal(raw, &t.saved); err != nil {
		return fmt.Errorf("read the counts of table %s: %w", t.name, err)
	}
	t.count.Store(t.saved.Items)
	t.bytes.Store(t.saved.Bytes)

	return nil
}

// saveCounts writes the counts that have changed since it last ran. They are not part of the
// items' batches, so a crash loses the changes since the last save. DynamoDB's own counts
// are hours old.
func (s *Service) saveCounts() error {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()

	b := s.db.NewBatch()
	for _, t := range *s.tables.tables.Load() {
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
			return fmt.Errorf("encode the counts of table %s: %w", t.name, err)
		}
		b.Set(keyspace.TablePrefix(keyspace.KindCounts, t.no), raw)
	}

	if b.Empty() {
		b.Discard()
		return nil
	}

	if err := b.Commit(); err != nil {
		s.forgetSavedCounts()
		return err
	}

	return nil
}

// forgetSavedCounts lets the next save write all counts. The caller holds countsMu.
func (s *Service) forgetSavedCounts() {
	none := counts{-1, -1}
	for _, t := range *s.tables.tables.Load() {
		t.saved = none

		t.counters.Range(func(_, c any) bool {
			c.(*indexCounter).saved = none
			return true
		})
	}
}
