package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestCompactFreesSpaceUnderLoad deletes most of the items and compacts, while writers move money:
// the deleted items free their space, no transaction is made in part, and the other items are
// there.
func TestCompactFreesSpaceUnderLoad(t *testing.T) {
	const items, writers = 200, 3

	f := reopen(t, t.TempDir(), func(*Config) {})
	f.table("accounts", "id", "", "")
	f.table("orders", "id", "", "")

	noise := rand.NewChaCha8([32]byte{1})
	text := make([]byte, 20_000) // it is not compressed
	for i := range items {
		_, _ = noise.Read(text)
		f.put("orders", item{"id": str(fmt.Sprint(i)), "text": str(fmt.Sprintf("%x", text))})
	}

	// All of it is on disk.
	if _, err := f.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}

	for i := range items {
		if i%10 != 0 {
			if _, err := f.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: item{"id": str(fmt.Sprint(i))}}); err != nil {
				t.Fatal(err)
			}
		}
	}

	load, stop := context.WithCancel(t.Context())
	defer stop()

	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for load.Err() == nil {
				if err := countedTransfer(t.Context(), f, fmt.Sprint(w)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	done, err := f.Compact(t.Context())
	if err != nil || done.Running || done.BytesWritten == 0 || done.BytesAfter > done.BytesBefore-items/2*20_000 {
		t.Errorf("%+v, %v", done, err)
	}

	if now := f.Compaction(); now != done {
		t.Errorf("%+v, want %+v", now, done)
	}

	stop()
	writing.Wait()

	left, err := f.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("orders"), ProjectionExpression: aws.String("id")})
	if err != nil || left.Count != items/10 {
		t.Errorf("%d items are left, %v", left.Count, err)
	}
}

// TestOneCompactionAtATime: a second compaction is refused while one runs, here and over the wire, and
// accepted afterwards.
func TestOneCompactionAtATime(t *testing.T) {
	f := open(t)
	client := f.HTTPClient()

	if !f.compactor.begin(f.Engine.db) {
		t.Fatal("there is one")
	}

	if _, err := f.Compact(t.Context()); !errors.Is(err, ErrCompacting) {
		t.Errorf("a second one: %v", err)
	}

	if status, answer := f.admin(client, "http://engine/", "Compact", "{}"); status != http.StatusBadRequest {
		t.Errorf("a second one: %d %s", status, answer)
	}

	var running Compaction
	status, answer := f.admin(client, "http://engine/", "DescribeCompaction", "{}")
	if err := json.Unmarshal([]byte(answer), &running); status != http.StatusOK || err != nil || !running.Running {
		t.Errorf("%d %s, %v", status, answer, err)
	}
	f.compactor.end(f.Engine.db)

	if status, answer := f.admin(client, "http://engine/", "Compact", "{}"); status != http.StatusOK {
		t.Errorf("after it: %d %s", status, answer)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()

	if c, err := f.Compact(ended); !errors.Is(err, context.Canceled) || c.Running {
		t.Errorf("with a context that has ended: %+v, %v", c, err)
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	if _, err := f.Compact(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}

	if c := f.Compaction(); c != (Compaction{}) {
		t.Errorf("closed: %+v", c)
	}
}

// TestTidyLeavesTheData: Tidy needs the directory for itself, and changes no data in it.
func TestTidyLeavesTheData(t *testing.T) {
	f := reopen(t, t.TempDir(), func(*Config) {})
	f.table("orders", "id", "", "")
	f.put("orders", item{"id": str("o-1")})

	if err := Tidy(f.cfg); err == nil {
		t.Error("it takes a directory that an engine has open")
	}

	if err := Tidy(Config{}); err == nil {
		t.Error("it takes no directory")
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	if err := Tidy(f.cfg); err != nil {
		t.Fatal(err)
	}

	f = reopen(t, f.cfg.Dir, func(*Config) {})
	if out, err := f.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: item{"id": str("o-1")}}); err != nil || len(out.Item) != 1 {
		t.Errorf("%v, %v", out, err)
	}
}

// TestCompactRemovesOldStreamRecords: even in an engine without Run, as in `ratchet compact`, no record past its
// retention stays in the tables.
func TestCompactRemovesOldStreamRecords(t *testing.T) {
	f := reopen(t, t.TempDir(), func(*Config) {})
	f.table("orders", "id", "", types.StreamViewTypeNewAndOldImages)
	f.put("orders", item{"id": str("o-1"), "customer": str("person")})
	f.put("orders", item{"id": str("o-1")})

	for _, row := range []struct {
		after time.Duration
		left  bool
	}{{23 * time.Hour, true}, {25 * time.Hour, false}} {
		f.ShiftClock(row.after)

		if _, err := f.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}

		left := false

		tables, err := filepath.Glob(filepath.Join(f.cfg.Dir, "*.sst"))
		for _, name := range tables {
			text, readErr := os.ReadFile(name)
			left, err = left || bytes.Contains(text, []byte("person")), errors.Join(err, readErr)
		}

		if err != nil || left != row.left {
			t.Errorf("after %v: left %v, %v", row.after, left, err)
		}
	}
}
