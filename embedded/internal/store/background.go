package store

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// backgroundPause is the time before a flush or a compaction is tried again. Pebble does so at once.
	backgroundPause = 250 * time.Millisecond
	// backgroundNotice is the least time between two lines of the log about failures in the background.
	backgroundNotice = 10 * time.Second
)

// background watches the work that no call waits for: flushes and compactions. Pebble repeats what fails without a pause
// and without an end, also while it opens a directory.
type background struct {
	log *slog.Logger
	// first has the first flush that failed, for Open.
	first chan error
	// abandoned is closed if Open gave up: then Pebble's goroutines of this opening stop at their next file.
	abandoned chan struct{}
	failing   atomic.Bool

	mu    sync.Mutex
	said  time.Time
	since int   // failures since then
	flush error // of the newest flush
}

func newBackground(log *slog.Logger) *background {
	return &background{log: log, first: make(chan error, 1), abandoned: make(chan struct{})}
}

// failed notes a failure. It is called with Pebble's lock held and must not wait.
func (b *background) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	// A failed flush is reported twice, at its end and here.
	if b.flush != nil && errors.Is(err, b.flush) {
		b.failing.Store(true)

		select {
		case b.first <- err:
		default:
		}
	}

	b.since++
	if now := time.Now(); now.Sub(b.said) >= backgroundNotice {
		b.log.Error("store: work in the background fails and is tried again", "error", err, "failures", b.since)
		b.said, b.since = now, 0
	}
}

// flushed notes the end of a flush, also of one that had nothing to write, which is an error to Pebble and no failure. It
// must not wait either.
func (b *background) flushed(info pebble.FlushInfo) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.flush = info.Err
	if info.Err == nil {
		b.failing.Store(false)
	}
}

// pacedFS is a file system on which tables are created after a pause while flushes fail.
type pacedFS struct {
	vfs.FS
	background *background
}

// Create creates a file.
func (p pacedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if ext := filepath.Ext(name); p.background.failing.Load() && (ext == ".sst" || ext == ".blob") {
		pause := time.NewTimer(backgroundPause)
		defer pause.Stop()

		select {
		case <-pause.C:
		case <-p.background.abandoned:
			select {} // the process is about to end, and no one waits for this goroutine
		}
	}

	return p.FS.Create(name, category)
}

// Unwrap returns the file system below.
func (p pacedFS) Unwrap() vfs.FS { return p.FS }

// openPebble opens Pebble. It fails at the first flush that fails: opening would not end otherwise. The lock of
// the directory then stays with this process.
func openPebble(dir string, options *pebble.Options, b *background) (*pebble.DB, error) {
	type opened struct {
		db  *pebble.DB
		err error
	}

	done := make(chan opened, 1)
	go func() {
		db, err := pebble.Open(dir, options)
		done <- opened{db, err}
	}()

	select {
	case o := <-done:
		return o.db, full(o.err)
	case err := <-b.first:
		close(b.abandoned)
		return nil, full(fmt.Errorf("its newest changes cannot be written to tables: %w", err))
	}
}

// full makes an error of a disk without space an ErrFull.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) && !errors.Is(err, ErrFull) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}

	return err
}
