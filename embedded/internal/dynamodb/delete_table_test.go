package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/smalldisk"
	"ratchet/embedded/internal/store"
)

const (
	streamedTable = `{"TableName":"items","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],` +
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],` +
		`"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},` +
		`"GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`
	putItem = `{"TableName":"items","Item":{"id":{"S":"a"},"g":{"S":"x"}}}`
	getItem = `{"TableName":"items","Key":{"id":{"S":"a"}},"ConsistentRead":true}`
	named   = `{"TableName":"items"}`
)

// TestAFullDiskRefusesADeletionBeforeItShows: the table is as it was, also after the next opening.
func TestAFullDiskRefusesADeletionBeforeItShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := smalldisk.New()
		s, db := openOn(t, disk)
		mustAnswer(t, s, "CreateTable", streamedTable)
		mustAnswer(t, s, "PutItem", putItem)

		disk.Free.Store(0)
		time.Sleep(time.Second)

		_ = db.HasRoom() // it looks at the disk
		time.Sleep(2 * time.Second)

		if _, err := s.Wire().Operations["DeleteTable"](t.Context(), []byte(named)); !errors.Is(err, store.ErrFull) {
			t.Error(err)
		}

		for range 2 {
			if got := mustAnswer(t, s, "DescribeTable", named); !strings.Contains(got, `"TableStatus":"ACTIVE"`) {
				t.Error(got)
			}

			if got := mustAnswer(t, s, "GetItem", getItem); !strings.Contains(got, `"x"`) {
				t.Error(got)
			}
			shut(t, db)
			s, db = openOn(t, disk)
		}
		shut(t, db)
	})
}

// TestADeletionGoesOnWhenThereIsRoom: a table whose deletion was answered stays deleted, although the disk became
// full before its data was deleted. Its data does not get into another table of that name, and its stream ends.
func TestADeletionGoesOnWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delay atomic.Int64

		disk := smalldisk.New()
		disk.BeforeSync = func() error {
			time.Sleep(time.Duration(delay.Load()))
			return nil
		}
		s, db := openOn(t, disk)
		mustAnswer(t, s, "CreateTable", streamedTable)
		mustAnswer(t, s, "PutItem", putItem)

		old := s.tables.Get("items").State()

		disk.Free.Store(0)
		time.Sleep(time.Second)

		_ = db.HasRoom() // it looks at the disk
		delay.Store(int64(2 * time.Second))

		if got := mustAnswer(t, s, "DeleteTable", named); !strings.Contains(got, `"TableStatus":"DELETING"`) {
			t.Error(got)
		}
		delay.Store(0)

		if storedKeys(t, db, &old.Record) == 0 {
			t.Fatal("the disk became full too late")
		}

		for range 2 {
			if got := request(t, s, "DescribeTable", named); !strings.HasPrefix(got, "ResourceNotFoundException") {
				t.Error(got)
			}
			shut(t, db)
			s, db = openOn(t, disk)
		}

		disk.Free.Store(1 << 30)
		time.Sleep(time.Second)
		mustAnswer(t, s, "CreateTable", streamedTable)

		if got := mustAnswer(t, s, "GetItem", getItem); got != `{}` {
			t.Errorf("the table of that name has %s", got)
		}
		mustAnswer(t, s, "PutItem", putItem)

		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()

		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}

		if n := storedKeys(t, db, &old.Record); n > 0 {
			t.Errorf("%d keys of the deleted table are left", n)
		}

		if got := mustAnswer(t, s, "GetItem", getItem); !strings.Contains(got, `"x"`) {
			t.Errorf("the table of that name has %s", got)
		}

		for arn, want := range map[string]string{old.Record.StreamARN: `"DISABLED"`, s.tables.Get("items").State().Record.StreamARN: `"ENABLED"`} {
			if got := streamStatus(t, s, arn); !strings.Contains(got, want) {
				t.Errorf("stream %s: %s", arn, got)
			}
		}
		shut(t, db)
	})
}

// storedKeys returns how many keys the store has of the data of a table.
func storedKeys(t *testing.T, db *store.DB, r *tables.Record) (n int) {
	t.Helper()

	prefixes := [][]byte{keyspace.TablePrefix(keyspace.KindItem, r.No), keyspace.TablePrefix(keyspace.KindCounts, r.No), keyspace.TablePrefix(keyspace.KindDeleted, r.No), r.Indexes[0].Space().Prefix}
	for _, prefix := range prefixes {
		if err := db.Scan(prefix, store.PrefixEnd(prefix), false, func(_, _ []byte) (bool, error) {
			n++
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
	}

	return n
}

func streamStatus(t *testing.T, s *Service, arn string) string {
	t.Helper()

	out, err := s.streams.Wire().Operations["DescribeStream"](t.Context(), fmt.Appendf(nil, `{"StreamArn":%q}`, arn))
	if err != nil {
		t.Fatal(err)
	}

	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}

	return string(raw)
}
