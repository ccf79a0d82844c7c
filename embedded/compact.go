package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// CompactTarget and CompactionTarget are the X-Amz-Target of two requests: compact the store, and
// return the progress of the newest compaction. AWS does not have them. Both are answered with a
// [Compaction] in JSON.
const (
	CompactTarget    = adminService + ".Compact"
	CompactionTarget = adminService + ".DescribeCompaction"
)

// ErrCompacting is returned by [Engine.Compact] while another call of it runs.
var ErrCompacting = errors.New("the store is being compacted already")

// Compaction is the progress of the newest call of [Engine.Compact].
type Compaction struct {
	// Running says that the call has not ended.
	Running bool `json:"running"`
	// BytesBefore and BytesAfter are the sizes of the store's files at the beginning and the end of the
	// call. While it runs, BytesAfter is the present size.
	BytesBefore int64 `json:"bytesBefore"`
	BytesAfter  int64 `json:"bytesAfter"`
	// BytesWritten is the number of bytes that the call has written so far, together with
	// compactions that the store made by itself. At the end it is about BytesAfter.
	BytesWritten int64 `json:"bytesWritten"`
}

// compactor has the newest compaction.
type compactor struct {
	mu      sync.Mutex
	newest  Compaction
	written int64 // of the store when it began
}

// Compact rewrites the files of the store while the engine serves calls. Overwritten and deleted
// values leave the tables on disk, and their space is free when Compact returns. Compact needs room
// for a second copy of the data, and reads and writes all of it once. Before that it removes the
// stream records that are past their retention, as Run does.
//
// If ctx ends, Compact returns its error; a part that has begun is still finished. A second call at
// the same time returns ErrCompacting.
//
// Logs and manifests of the store may hold older values until the directory was opened twice: see
// [Tidy].
func (e *Engine) Compact(ctx context.Context) (Compaction, error) {
	defer e.gate.leave()

	if !e.gate.enter() {
		return Compaction{}, ErrClosed
	}

	return e.compact(ctx)
}

// compact is Compact inside the gate.
func (e *Engine) compact(ctx context.Context) (Compaction, error) {
	if !e.compactor.begin(e.db) {
		return Compaction{}, ErrCompacting
	}

	// Without Run, records past their retention are still there.
	err := e.streams.Maintain()
	if err == nil {
		err = e.db.Compact(ctx)
	}

	return e.compactor.end(e.db), err
}

// Compaction returns the progress of the newest call of Compact, or the zero Compaction before the
// first call.
func (e *Engine) Compaction() Compaction {
	defer e.gate.leave()

	if !e.gate.enter() {
		return Compaction{}
	}

	return e.compactor.describe(e.db)
}

func (c *compactor) begin(db *store.DB) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.newest.Running {
		return false
	}
	c.newest, c.written = Compaction{Running: true, BytesBefore: db.Size()}, db.Rewritten()

	return true
}

func (c *compactor) end(db *store.DB) Compaction {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.measure(db)
	c.newest.Running = false

	return c.newest
}

func (c *compactor) describe(db *store.DB) Compaction {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.newest.Running {
		c.measure(db)
	}

	return c.newest
}

// measure takes the sizes. The caller holds the lock.
func (c *compactor) measure(db *store.DB) {
	c.newest.BytesAfter, c.newest.BytesWritten = db.Size(), db.Rewritten()-c.written
}

func (e *Engine) serveCompact(ctx context.Context, _ []byte) (any, error) {
	c, err := e.compact(ctx)
	if errors.Is(err, ErrCompacting) {
		return nil, wire.Errorf("ResourceInUseException", "%v", err)
	}

	return c, insufficientStorage(err)
}

func (e *Engine) serveCompaction(context.Context, []byte) (any, error) {
	return e.compactor.describe(e.db), nil
}

// Tidy makes the store in dir delete the files that it keeps of earlier openings: logs whose
// content is in its tables, and the manifest before the present one. After [Engine.Compact] and
// Close, Tidy removes the last files that may hold erased values. It fails if an engine has the
// directory open.
func Tidy(cfg Config) error {
	if err := cfg.fillDefaults(); err != nil {
		return err
	}

	// The first opening deletes the logs and keeps the manifest of the opening before it, which the
	// second deletes.
	for range 2 {
		db, err := store.Open(store.Config{Dir: cfg.Dir, Log: cfg.Log, Failed: cfg.Failed})
		if err != nil {
			return err
		}

		if err := db.Close(); err != nil {
			return fmt.Errorf("close the store in %s: %w", cfg.Dir, err)
		}
	}

	return nil
}
