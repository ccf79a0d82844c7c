package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ratchet/embedded/internal/dynamodb/expiries"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

func (s *Service) deleteTable(ctx context.Context, in *tableIn) (any, error) {
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

	// This write comes before anything shows that the table is gone: a full disk may
	// refuse the write.
	if err := s.markDeleted(&state.record); err != nil {
		return nil, fmt.Errorf("delete table %s: %w", t.name, err)
	}

	// New writers see that the table is gone. Writers with the old state must end before the data is
	// deleted, or they would write items that stay.
	gone := *state
	gone.deleted = true
	t.state.Store(&gone)
	s.tables.change(func(all map[string]*table) { delete(all, t.name) })
	s.stripes.WaitForWriters()

	err = s.deleteData(&state.record)
	s.resumeAfter(ctx, err)

	// On a full disk the table is gone nevertheless, and Run deletes its data when there is room.
	if err != nil && !errors.Is(err, store.ErrFull) {
		return nil, fmt.Errorf("delete the data of table %s: %w", t.name, err)
	}

	return map[string]any{"TableDescription": deletedDescription(s.describe(t, state))}, nil
}

// deletedDescription returns the members that DeleteTable answers.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteTable.html, "Sample Response",
// with the members that are newer than the sample
func deletedDescription(d map[string]any) map[string]any {
	out := map[string]any{"TableStatus": "DELETING"}
	for _, name := range []string{"TableName", "TableArn", "TableId", "ItemCount", "TableSizeBytes", "ProvisionedThroughput", "DeletionProtectionEnabled"} {
		out[name] = d[name]
	}

	return out
}

// markDeleted deletes the table's record, and notes on disk that its data is to be deleted.
func (s *Service) markDeleted(r *tables.Record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode table %s: %w", r.Name, err)
	}

	b := s.db.NewBatch()
	b.Delete(keyspace.StoreKey(keyspace.KindTable, []byte(r.Name)...))
	b.Set(keyspace.TablePrefix(keyspace.KindDeleted, r.No), raw)

	return b.Commit()
}

// deleteData deletes the items of a table that is gone, their expiries and the counts in one batch. The stream
// is disabled and stays readable, as on AWS. After a crash, Run does it again.
func (s *Service) deleteData(r *tables.Record) error {
	// Without the lock, a saveCounts that still has the table could write its counts afterwards.
	s.countsMu.Lock()
	defer s.countsMu.Unlock()

	b := s.db.NewBatch()
	b.Delete(keyspace.TablePrefix(keyspace.KindDeleted, r.No))
	b.Delete(keyspace.TablePrefix(keyspace.KindCounts, r.No))

	items := keyspace.TablePrefix(keyspace.KindItem, r.No)
	b.DeleteRange(items, store.PrefixEnd(items))
	expiries.StageDeletion(b, r.No)

	for i := range r.Indexes {
		r.Indexes[i].StageDeletion(b)
	}

	// Disable commits the batch, together with the end of the stream.
	if r.StreamOn {
		if stream := s.streams.Lookup(r.StreamARN); stream != nil {
			return s.streams.Disable(b, stream, s.cfg.Clock.Now())
		}
	}

	// Without a flush: the mark of markDeleted is on disk, and Run deletes again after a crash.
	return b.CommitLater()
}

// finishDeletions deletes the data of tables whose deletion was interrupted. The caller holds ddl.
func (s *Service) finishDeletions() error {
	var left []*tables.Record

	prefix := keyspace.StoreKey(keyspace.KindDeleted)

	err := s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		r := new(tables.Record)
		if err := json.Unmarshal(v, r); err != nil {
			return false, fmt.Errorf("read deleted table %x: %w", k[2:], err)
		}

		// Collected first, so that no table is deleted below the open scan.
		left = append(left, r)

		return true, nil
	})
	if err != nil {
		return err
	}

	for _, r := range left {
		if err := s.deleteData(r); err != nil {
			return fmt.Errorf("delete the data of table %s: %w", r.Name, err)
		}
	}

	return nil
}
