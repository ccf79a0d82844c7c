package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The first byte of every key names the service that owns it.
const (
	PrefixDynamoDB      byte = 'd'
	PrefixStreams       byte = 's'
	PrefixStepFunctions byte = 'f'
	PrefixSQS           byte = 'q'
)

// Sizes in bytes.
const (
	memTableSize = 32 << 20 // changes held in memory before they become a table on disk
	// indexBlockSize is so large that a table has one block of index: a read looks into one index, and
	// not into an index of indexes first.
	indexBlockSize = 256 << 10
)

// DB is an open key space. Its methods may be called from many goroutines.
type DB struct {
	kv     any // a *pebble.DB; see pebbleOf
	disk   vfs.FS
	dir    string
	log    *slog.Logger
	failed func(error)
	fails  sync.Once
	// unsynced counts the batches between Apply and the end of Sync.
	unsynced atomic.Int64
	room     room

	// generation is the newest generation. Open sets it, then keepGenerations, then Close.
	generation uint64
	newLog     chan struct{} // has room for one
	closing    chan struct{} // closed by Close
	ended      chan struct{} // closed at the end of keepGenerations
}

// Config says which key space to open. Dir and Log are required.
type Config struct {
	Dir string
	// Log receives the store's errors.
	Log *slog.Logger
	// Disk is the file system, nil for the machine's.
	Disk vfs.FS
	// InMemory says that Disk is memory which nothing outlives. Logs then get no room in advance, and compactions
	// begin with what makes them necessary and are not also looked for ten times per second.
	InMemory bool
	// Failed, unless it is nil, is called if the disk fails while writing, before the store panics. It may
	// end the process in another way.
	Failed func(error)
}

// Open opens or creates a key space. It fails when the directory is already open, in this process or
// another.
func Open(cfg Config) (*DB, error) {
	if cfg.Dir == "" {
		return nil, errors.New("open store: the data directory is empty")
	}

	cache := pebble.NewCache(cacheSize)
	defer cache.Unref() // the open database keeps its own reference

	if cfg.Disk == nil {
		cfg.Disk = Disk
	}

	if cfg.Disk == Disk {
		if err := errors.Join(cfg.Disk.MkdirAll(cfg.Dir, privateDir), makePrivate(cfg.Dir, cfg.Log)); err != nil {
			return nil, fmt.Errorf("open store in %s: %w", cfg.Dir, err)
		}
	}

	d := &DB{
		disk:    cfg.Disk,
		dir:     cfg.Dir,
		log:     cfg.Log,
		failed:  cfg.Failed,
		newLog:  make(chan struct{}, 1),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
	}

	d.room.opened = time.Now()
	d.room.full.Store(enough)
	d.lookAtDisk(-int64(roomNotice)) // on a disk that is full at Open no call has begun

	// The generation is read before pebble.Open, which creates a key space where it finds none.
	newest, err := d.newestGeneration()
	if err != nil {
		return nil, openError(d.dir, err)
	}

	if err := d.beginInNewestFormat(); err != nil {
		return nil, openError(d.dir, full(err))
	}

	watch := newBackground(d.log)
	kept := &keeper{FS: pacedFS{d.disk, watch}}

	options := optionsOf(d, cache, watch)
	options.FS = newLogFS(kept)

	if cfg.InMemory {
		options.FS = kept
		options.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	}

	if d.kv, err = openPebble(d.dir, options, watch); err != nil {
		return nil, openError(d.dir, err)
	}

	// Nothing is deleted until the format is known and the generations are complete.
	if err = d.checkFormat(); err == nil {
		err = d.checkGenerations(newest)
	}

	if err != nil {
		return nil, errors.Join(openError(d.dir, err), pebbleOf(d).Close())
	}

	if err := kept.release(); err != nil {
		d.log.Error("store: files that are not needed any more were not deleted", "error", err)
	}

	<-d.newLog // the log of this opening has its generation
	go d.keepGenerations()

	return d, nil
}

// optionsOf returns all options but the file system.
func optionsOf(d *DB, cache *pebble.Cache, watch *background) *pebble.Options {
	options := &pebble.Options{
		Cache:                 cache,
		Logger:                pebbleLogger{d},
		MemTableSize:          memTableSize,
		FormatMajorVersion:    pebble.FormatNewest,
		L0CompactionThreshold: 4,
		WALMinSyncInterval:    letOthersCommit,
		EventListener: &pebble.EventListener{
			DataCorruption:  damaged(d.log),
			BackgroundError: watch.failed,
			FlushEnd:        watch.flushed,
			WALCreated: func(pebble.WALCreateInfo) {
				select {
				case d.newLog <- struct{}{}:
				default: // one is waiting
				}
			},
		},
	}
	for i := range options.Levels {
		// A Bloom filter of 10 bits per key answers 99 % of the reads of keys that do not exist
		// without reading a block of data: see GetRare.
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		options.Levels[i].IndexBlockSize = indexBlockSize
	}

	return options
}

// letOthersCommit is called between two syncs of the log. It does not wait, but lets goroutines run that are
// ready, such as writers of the last sync's batches: the batches that they commit now take part in the
// next sync. Under load this saves a third of the syncs, which are a large part of the cost of a write.
func letOthersCommit() time.Duration {
	runtime.Gosched()
	return 0
}

// Exists reports whether dir holds a key space. It opens and creates nothing.
func Exists(dir string) (bool, error) {
	desc, err := pebble.Peek(dir, vfs.Default)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("look for a store in %s: %w", dir, err)
	}

	return desc.Exists, nil
}

// Checkpoint writes a copy of the key space into dir, which must not exist, while other goroutines
// read and write. The copy holds every batch that was visible when Checkpoint was called. It may
// hold later batches, but none without all earlier ones. Tables are linked and not copied if dir is
// on the same file system. Checkpoint returns ErrFull if the disk has no room for the logs.
func (d *DB) Checkpoint(dir string) error {
	// Size counts the records of the logs. PhysicalSize counts whole files, but the newest file
	// only with the size at its beginning.
	logs := pebbleOf(d).Metrics().WAL
	if err := d.hasRoom(logs.Size + logs.PhysicalSize + roomForCopies); err != nil {
		return fmt.Errorf("checkpoint into %s: %w", dir, err)
	}

	if err := pebbleOf(d).Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("checkpoint into %s: %w", dir, err)
	}

	return nil
}

// Close waits for running reads and releases the directory.
func (d *DB) Close() error {
	close(d.closing)
	<-d.ended

	// The last change of this opening: if the next Open finds it, no earlier change is missing.
	return errors.Join(d.nextGeneration(), pebbleOf(d).Close())
}

// Get returns a copy of the value under key and whether there is one.
func (d *DB) Get(key []byte) ([]byte, bool, error) {
	value, closer, err := pebbleOf(d).Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}

	if err != nil {
		return nil, false, readError(err)
	}
	defer closer.Close()

	return append([]byte(nil), value...), true, nil
}

// GetRare is Get for a key that probably does not exist. It takes a little longer than Get, but asks the
// Bloom filters of the lowest level, too, which has most keys: Get reads a block there to learn that
// a key does not exist. The key must not be empty.
func (d *DB) GetRare(key []byte) (value []byte, found bool, err error) {
	it, err := pebbleOf(d).NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()

	// The prefix of a key is the whole key here, so a hit is the key itself.
	if !it.SeekPrefixGE(key) {
		return nil, false, readError(it.Error())
	}

	if value, err = it.ValueAndErr(); err != nil {
		return nil, false, readError(err)
	}

	return append([]byte(nil), value...), true, nil
}

// Scan calls fn for each pair with lo <= key < hi in key order, or in reverse order,
// until fn returns false or an error. The scan sees a snapshot of the key space. fn must
// not keep key or value.
func (d *DB) Scan(lo, hi []byte, reverse bool, fn func(key, value []byte) (more bool, err error)) (err error) {
	it, err := pebbleOf(d).NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()

	start, next := it.First, it.Next
	if reverse {
		start, next = it.Last, it.Prev
	}

	for ok := start(); ok; ok = next() {
		// The value may be read from disk only here, so this can fail, too.
		value, err := it.ValueAndErr()
		if err != nil {
			return readError(err)
		}

		if more, err := fn(it.Key(), value); err != nil || !more {
			return err
		}
	}

	return readError(it.Error())
}

// Barrier returns when everything that was visible at the call is on disk. Call it between a read
// and its answer. Barrier costs nothing while no batch waits for the disk.
func (d *DB) Barrier() error {
	if d.unsynced.Load() == 0 {
		return nil
	}

	// Batches reach the disk in the order of Apply: when this one is there, so are all that were
	// visible before. LogData gives the batch something to write without changing a key.
	b := d.NewBatch()
	must(changesOf(b).LogData(nil, nil))

	return b.Commit()
}

// PrefixEnd returns the smallest key above every key that starts with prefix, for the
// upper bound of a range; nil means that there is none.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}

	return nil
}

// pebbleLogger passes Pebble's errors to the engine's log and drops its chatter.
type pebbleLogger struct{ db *DB }

func (l pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.db.log.Error("store", "detail", fmt.Sprintf(format, args...))
}

// Fatalf is called when a write fails. Pebble requires that it does not return.
func (l pebbleLogger) Fatalf(format string, args ...any) { l.db.fail(fmt.Sprintf(format, args...)) }
