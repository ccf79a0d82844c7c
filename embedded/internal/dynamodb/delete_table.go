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
	s.tables.DDL.Lock()
	defer s.tables.DDL.Unlock()

	t, err := s.tables.Existing(in.TableName)
	if err != nil {
		return nil, err
	}

	state := t.State()
	if state.Record.DeletionProtection {
		return nil, wire.Errorf("ValidationException",
			"Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}

	// This write comes before anything shows that the table is gone: a full disk may
	// refuse the write.
	if err := s.markDeleted(&state.Record); err != nil {
		return nil, fmt.Errorf("delete table %s: %w", t.Name, err)
	}

	// New writers see that the table is gone. Writers with the old state must end before the data is
	// deleted, or they would write items that stay.
	gone := *state
	gone.Deleted = true
	t.Publish(&gone)
	s.tables.Remove(t)
	s.stripes.WaitForWriters()

	err = s.deleteData(&state.Record)
	s.resumeAfter(ctx, err)

	// On a full disk the table is gone nevertheless, and Run deletes its data when there is room.
	if err != nil && !errors.Is(err, store.ErrFull) {
		return nil, fmt.Errorf("delete the data of table %s: %w", t.Name, err)
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
	// Otherwise SaveCounts, which may still have the table, could write its counts afterwards.
	return s.tables.WhileNotSaving(func() error { return s.commitDeletion(r) })
}

func (s *Service) commitDeletion(r *tables.Record) error {
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

// finishDeletions deletes the data of tables whose deletion was interrupted. The caller holds DDL.
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
