package dynamodb

import (
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
)

// openOn opens a service over a file system.
func openOn(t *testing.T, disk vfs.FS) (*Service, *store.DB) {
	t.Helper()

	return openStored(t, store.Config{Dir: "data", Disk: disk})
}

// openStored opens a service over a store, which logs nothing.
func openStored(t *testing.T, cfg store.Config) (*Service, *store.DB) {
	t.Helper()

	cfg.Log = slog.New(slog.DiscardHandler)

	db, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}

	records, err := streams.New(db, streams.Config{Region: "us-east-1", AccountID: "000000000000", Log: cfg.Log})
	if err != nil {
		t.Fatal(err)
	}

	s, err := New(db, records, Config{Region: "us-east-1", AccountID: "000000000000", Log: cfg.Log})
	if err != nil {
		t.Fatal(err)
	}

	return s, db
}

func shut(t *testing.T, db *store.DB) {
	t.Helper()

	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
