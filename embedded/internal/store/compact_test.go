package store

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// tablesWith returns the tables in a directory that hold the text.
func tablesWith(t *testing.T, dir, text string) (with []string) {
	t.Helper()

	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range names {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the store has replaced it meanwhile
		}

		if err != nil {
			t.Fatal(err)
		}

		if bytes.Contains(data, []byte(text)) {
			with = append(with, filepath.Base(name))
		}
	}

	return with
}

// TestCompactLeavesNoDeletedKey: a table of deletions is rewritten, too, if the store would move it to the
// lowest level as it is, or if it lies there already.
func TestCompactLeavesNoDeletedKey(t *testing.T) {
	dir := t.TempDir()

	db, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, db)

	write := func(kept, deleted string) {
		b := db.NewBatch()
		b.Set([]byte(kept), []byte("value"))
		b.Set([]byte(deleted), []byte("value"))

		err := b.Commit()
		if err == nil {
			b = db.NewBatch()
			b.Delete([]byte(deleted))
			err = b.Commit()
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	write("d-a", "d-first-person")

	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}

	if with := tablesWith(t, dir, "first-person"); len(with) > 0 {
		t.Errorf("of the newest changes, the deleted key is in %v", with)
	}

	// The store itself moves tables in this way. A moment later it may have rewritten one by itself.
	moved := false
	for range 100 {
		write("q-a", "q-second-person")

		if err := pebbleOf(db).Compact(t.Context(), []byte{PrefixSQS}, []byte{PrefixSQS + 1}, false); err != nil {
			t.Fatal(err)
		}

		if moved = len(tablesWith(t, dir, "second-person")) == 1 && pebbleOf(db).Metrics().Levels[0].TablesCount == 0; moved {
			break
		}
	}

	if !moved {
		t.Fatal("no table was moved to the lowest level as it was")
	}

	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}

	if with := tablesWith(t, dir, "second-person"); len(with) > 0 {
		t.Errorf("in the lowest level, the deleted key is in %v", with)
	}

	for key, want := range map[string]bool{"d-a": true, "q-a": true, "d-first-person": false, "q-second-person": false} {
		if _, found, err := db.Get([]byte(key)); err != nil || found != want {
			t.Errorf("%s: %v, %v", key, found, err)
		}
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()

	if err := db.Compact(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
