// Package store keeps the engine's bytes: one ordered key space on disk,
// changed by batches that are atomic and, once Sync returns, durable.
//
// Every service of the engine owns the keys behind its own prefix (see the
// Prefix constants). A batch may span services: a DynamoDB write and its stream
// record are one batch.
package store

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// First byte of every key, so that services never meet.
const (
	PrefixDynamoDB      byte = 'd'
	PrefixStreams       byte = 's'
	PrefixStepFunctions byte = 'f'
	PrefixSQS           byte = 'q'
)

// cacheSize is the memory for blocks of data read from disk, in bytes.
const cacheSize = 64 << 20

// DB is an open key space. Its methods may be called from many goroutines.
type DB struct {
	pebble *pebble.DB
	// unsynced counts the batches between Apply and the end of Sync.
	unsynced atomic.Int64
}

// Open opens or creates the key space in dir. A second Open of the same
// directory fails while the first is open, in this process or another.
func Open(dir string, log *slog.Logger) (*DB, error) { return openOn(vfs.Default, dir, log) }

func openOn(fs vfs.FS, dir string, log *slog.Logger) (*DB, error) {
	if dir == "" {
		return nil, errors.New("open store: the data directory is empty")
	}
	cache := pebble.NewCache(cacheSize)
	defer cache.Unref() // the open database holds it

	options := &pebble.Options{
		FS:                    fs,
		Cache:                 cache,
		Logger:                pebbleLogger{log},
		MemTableSize:          32 << 20,
		FormatMajorVersion:    pebble.FormatNewest,
		L0CompactionThreshold: 4,
	}
	for i := range options.Levels {
		// Most conditional writes ask for keys that are not there: a filter
		// answers that without touching the tables.
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}

	db, err := pebble.Open(dir, options)
	if err != nil {
		if errors.Is(err, syscall.EAGAIN) { // the lock file is held
			err = fmt.Errorf("another process has this directory open (%w)", err)
		}
		return nil, fmt.Errorf("open store in %s: %w", dir, err)
	}

	return &DB{pebble: db}, nil
}

// Close waits for running reads to end and releases the directory.
func (d *DB) Close() error { return d.pebble.Close() }

// Get returns a copy of the value under key and whether there is one.
func (d *DB) Get(key []byte) ([]byte, bool, error) {
	v, closer, err := d.pebble.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}

	if err != nil {
		return nil, false, err
	}
	defer closer.Close()

	return append([]byte(nil), v...), true, nil
}

// Scan calls fn for each pair with lo <= key < hi in key order, or in reverse
// order, until fn returns false or an error. The scan sees one moment of the
// key space. fn must not keep key or value.
func (d *DB) Scan(lo, hi []byte, reverse bool, fn func(key, value []byte) (more bool, err error)) (err error) {
	it, err := d.pebble.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()

	valid, next := it.First, it.Next
	if reverse {
		valid, next = it.Last, it.Prev
	}

	for ok := valid(); ok; ok = next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}

		if more, err := fn(it.Key(), value); err != nil || !more {
			return err
		}
	}

	return it.Error()
}

// Barrier returns once everything that was visible when it was called is on
// disk. A reader that looks at many keys calls it before it tells what it saw.
// It costs nothing while no batch is being flushed.
func (d *DB) Barrier() error {
	if d.unsynced.Load() == 0 {
		return nil
	}
	b := d.NewBatch()
	must(b.b.LogData(nil, nil)) // batches reach the disk in order, this one last

	return b.Commit()
}

// NewBatch starts an empty batch. A batch belongs to one goroutine.
func (d *DB) NewBatch() *Batch { return &Batch{db: d, b: d.pebble.NewBatch()} }

// Batch is a set of changes applied together or not at all.
type Batch struct {
	db *DB
	b  *pebble.Batch
}

// Set stores value under key; both are copied.
func (b *Batch) Set(key, value []byte) { must(b.b.Set(key, value, nil)) }

// Delete removes key, which need not exist.
func (b *Batch) Delete(key []byte) { must(b.b.Delete(key, nil)) }

// DeleteRange removes every key with lo <= key < hi.
func (b *Batch) DeleteRange(lo, hi []byte) { must(b.b.DeleteRange(lo, hi, nil)) }

// Empty reports whether the batch changes nothing.
func (b *Batch) Empty() bool { return b.b.Empty() }

// Apply makes the batch visible to readers. It is not durable before Sync
// returns; batches become durable in the order in which they were applied. A
// caller that needs visibility in a given order calls Apply under its own lock
// and Sync outside it, so that many callers share one flush to disk.
func (b *Batch) Apply() error {
	b.db.unsynced.Add(1)

	err := b.db.pebble.ApplyNoSyncWait(b.b, pebble.Sync)
	if err != nil {
		b.db.unsynced.Add(-1)
	}

	return err
}

// Sync waits until the applied batch is on disk and releases it.
func (b *Batch) Sync() error {
	err := b.b.SyncWait()
	b.db.unsynced.Add(-1)
	return errors.Join(err, b.b.Close())
}

// CommitLater makes the batch visible and lets it become durable with whatever
// is flushed next; Barrier does not wait for it, a later Commit or Sync does.
func (b *Batch) CommitLater() error {
	return errors.Join(b.db.pebble.Apply(b.b, pebble.NoSync), b.b.Close())
}

// Commit is Apply and Sync. It releases the batch in any case.
func (b *Batch) Commit() error {
	if err := b.Apply(); err != nil {
		b.Discard()
		return err
	}

	return b.Sync()
}

// Discard releases a batch that was not applied.
func (b *Batch) Discard() { must(b.b.Close()) }

// must holds where pebble documents that only a misuse of the batch (after
// Close or Commit) can fail.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("store: batch misused: %v", err))
	}
}

type pebbleLogger struct{ log *slog.Logger }

func (l pebbleLogger) Infof(string, ...any) {}
func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("store", "detail", fmt.Sprintf(format, args...))
}
func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.log.Error("store failed; the process ends so that nothing unsaved is acknowledged", "detail", fmt.Sprintf(format, args...))
	panic(fmt.Sprintf(format, args...))
}
