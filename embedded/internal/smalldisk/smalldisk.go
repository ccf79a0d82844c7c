// Package smalldisk has a disk for tests, in memory. A test sets its free space, and can delay its syncs or let
// them fail.
package smalldisk

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is a file system in memory.
type FS struct {
	*vfs.MemFS
	// Free is the free space in bytes that GetDiskUsage reports.
	Free atomic.Uint64
	// BeforeSync, unless it is nil, is called before the data of a created file is synced. A sync fails with the
	// error of BeforeSync. Set it before the first file is created.
	BeforeSync func() error
}

// New returns an empty file system with 1 GiB free.
func New() *FS {
	f := &FS{MemFS: vfs.NewMem()}
	f.Free.Store(1 << 30)

	return f
}

// GetDiskUsage says how much is free.
func (f *FS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: f.Free.Load()}, nil
}

// Create creates a file.
func (f *FS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	created, err := f.MemFS.Create(name, category)
	if err != nil || f.BeforeSync == nil {
		return created, err
	}

	return file{created, f.BeforeSync}, nil
}

type file struct {
	vfs.File
	beforeSync func() error
}

// SyncData syncs the content of the file.
func (f file) SyncData() error {
	if err := f.beforeSync(); err != nil {
		return err
	}

	return f.File.SyncData()
}
