package dynamodb

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/internal/smalldisk"
	"ratchet/embedded/internal/store"
)

// TestCountsThatWereNotSavedAreSavedLater: a full disk loses no count of a table or an index.
func TestCountsThatWereNotSavedAreSavedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := smalldisk.New()
		s, db := openOn(t, disk)
		mustAnswer(t, s, "CreateTable", `{"TableName":"counted","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
			"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
			"GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`)
		mustAnswer(t, s, "PutItem", `{"TableName":"counted","Item":{"pk":{"S":"a"},"g":{"S":"x"}}}`)

		disk.Free.Store(0)
		time.Sleep(10 * time.Second)

		if err := s.tables.SaveCounts(); err != nil {
			t.Fatal(err) // for a second, batches of calls that have begun are still applied
		}
		mustAnswer(t, s, "PutItem", `{"TableName":"counted","Item":{"pk":{"S":"b"},"g":{"S":"x"}}}`)
		time.Sleep(10 * time.Second)

		if err := s.tables.SaveCounts(); !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}

		if err := s.Close(); err != nil {
			t.Errorf("a stop on a full disk: %v", err)
		}

		disk.Free.Store(1 << 30)
		time.Sleep(10 * time.Second)

		if err := errors.Join(s.tables.SaveCounts(), db.Close()); err != nil {
			t.Fatal(err)
		}

		s, db = openOn(t, disk)
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()

		table, err := s.tables.Lookup(&[]string{"counted"}[0])
		if err != nil {
			t.Fatal(err)
		}

		if entries := table.IndexCounts(&table.State().Record.Indexes[0]); entries.Items != 2 || table.Size().Items != 2 {
			t.Errorf("%d items and %d entries are counted, not 2 and 2", table.Size().Items, entries.Items)
		}
	})
}
