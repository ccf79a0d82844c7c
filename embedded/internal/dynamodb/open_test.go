package dynamodb

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
)

// smallDisk is a file system that says how much room it has, and whose syncs of logs take a while.
type smallDisk struct {
	*vfs.MemFS
	free  atomic.Uint64
	delay atomic.Int64
}

func newSmallDisk() *smallDisk {
	s := &smallDisk{MemFS: vfs.NewMem()}
	s.free.Store(1 << 30)

	return s
}

func (s *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: s.free.Load()}, nil
}

func (s *smallDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := s.MemFS.Create(name, category)
	return slowFile{file, &s.delay}, err
}

type slowFile struct {
	vfs.File
	delay *atomic.Int64
}

func (f slowFile) SyncData() error {
	time.Sleep(time.Duration(f.delay.Load()))
	return f.File.SyncData()
}

// openOn opens a service over a file system.
func openOn(t *testing.T, disk vfs.FS) (*Service, *store.DB) {
	t.Helper()

	log := slog.New(slog.DiscardHandler)

	db, err := store.OpenOn(disk, "data", log)
	if err != nil {
		t.Fatal(err)
	}

	records, err := streams.New(db, streams.Config{Region: "us-east-1", AccountID: "000000000000", Log: log})
	if err != nil {
		t.Fatal(err)
	}

	s, err := New(db, records, Config{Region: "us-east-1", AccountID: "000000000000", Log: log})
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
