package store

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// cuttingFS calls cut before each operation that changes the file system, because a power failure may come
// there. It reports how much room it has. If it is ordered, changes of names are on disk at once, as on a file
// system whose journal keeps their order.
type cuttingFS struct {
	*vfs.MemFS
	cut     func()
	free    *atomic.Uint64
	ordered bool
}

// named ends an operation that has changed a name.
func (c cuttingFS) named(name string, err error) error {
	if err != nil || !c.ordered {
		return err
	}

	dir, err := c.MemFS.OpenDir(c.PathDir(name))
	if err != nil {
		return err
	}

	return errors.Join(dir.Sync(), dir.Close())
}

func (c cuttingFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: c.free.Load()}, nil
}

func (c cuttingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	c.cut()
	file, err := c.MemFS.Create(name, category)

	return cuttingFile{file, c.cut}, c.named(name, err)
}

func (c cuttingFS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	c.cut()
	file, err := c.MemFS.ReuseForWrite(oldName, newName, category)

	return cuttingFile{file, c.cut}, c.named(newName, err)
}

func (c cuttingFS) OpenDir(name string) (vfs.File, error) {
	file, err := c.MemFS.OpenDir(name)
	return cuttingFile{file, c.cut}, err
}

func (c cuttingFS) Rename(oldName, newName string) error {
	c.cut()
	return c.named(newName, c.MemFS.Rename(oldName, newName))
}

func (c cuttingFS) Remove(name string) error {
	c.cut()
	return c.named(name, c.MemFS.Remove(name))
}

func (c cuttingFS) Link(oldName, newName string) error {
	c.cut()
	return c.named(newName, c.MemFS.Link(oldName, newName))
}

type cuttingFile struct {
	vfs.File
	cut func()
}

func (c cuttingFile) Write(p []byte) (int, error) {
	c.cut()
	return c.File.Write(p)
}

func (c cuttingFile) WriteAt(p []byte, at int64) (int, error) {
	c.cut()
	return c.File.WriteAt(p, at)
}

func (c cuttingFile) Sync() error {
	c.cut()
	return c.File.Sync()
}

func (c cuttingFile) SyncData() error {
	c.cut()
	return c.File.SyncData()
}

// outages keeps the disks that power failures leave, with a part of the unsynced data or without it.
type outages struct {
	mu    sync.Mutex
	dice  *rand.Rand
	every int // about how many operations are between two of them
	disk  *vfs.MemFS
	acked func() int
	// parts are the percentages of unsynced data that is on disk nevertheless.
	parts []int

	left []outage
}

// outage is the disk after a power failure, and how many changes had been acknowledged by then.
type outage struct {
	disk  *vfs.MemFS
	acked int
}

// cut keeps the disk of a power failure now and then.
func (o *outages) cut() {
	o.mu.Lock()
	defer o.mu.Unlock()

	if o.dice.IntN(o.every) == 0 {
		o.left = append(o.left, o.now())
	}
}

// now is a power failure at this moment.
func (o *outages) now() outage {
	acked := o.acked() // before the copy: later ones need not be there

	return outage{o.disk.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: o.parts[o.dice.IntN(len(o.parts))],
		RNG:                 o.dice,
	}), acked}
}

func (o *outages) take() []outage {
	o.mu.Lock()
	defer o.mu.Unlock()

	left := o.left
	o.left = nil

	return left
}
