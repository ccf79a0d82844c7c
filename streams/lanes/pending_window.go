package lanes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
)

// MaxWindow is how many records a shard's reader may be ahead of the oldest unfinished record. So
// an item that cannot be handled does not stop the others at once, and the window's memory is
// bounded: about 64 bytes for each finished record.
const MaxWindow = 100_000

// Window holds the records of one shard from the oldest unfinished one on, in
// the order of the stream.
//
// The checkpoint is the last record before the window. Records may be finished in any order, but
// the checkpoint moves only past an unbroken run of finished records.
type Window struct {
	maxPending int
	maxLen     int
	memory     *Memory
	waits      atomic.Bool // the reader waits for room
	waited     atomic.Bool // the reader has waited for room since the last call of readerWaited
	ends       atomic.Bool // the shard is read to its end, and its children wait until every record is finished

	mu           sync.Mutex
	slots        []windowSlot
	head         uint64     // number of the oldest slot; numbers only grow
	pending      int        // unfinished records
	bytes        int64      // size of the unfinished records
	lastFinished windowSlot // the newest slot before head
	changed      notifier
}

type windowSlot struct {
	sequence  string
	createdAt int64 // Unix milliseconds
	finished  bool
}

// pendingRecord is one record on its way through the handlers.
type pendingRecord struct {
	streams.Record
	slot       uint64
	size       int64
	unfinished int // handlers that have not finished it; guarded by Window.mu
}

// NewWindow returns an empty window.
func NewWindow(maxPending, maxLen int, memory *Memory) *Window {
	return &Window{maxPending: maxPending, maxLen: maxLen, memory: memory}
}

// add appends records. The field unfinished of a record is the number of handlers that have to
// finish it.
func (w *Window) add(records []*pendingRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()

	bytes := int64(0)
	for _, r := range records {
		r.slot = w.head + uint64(len(w.slots))
		w.slots = append(w.slots, windowSlot{
			sequence:  r.SequenceNumber,
			createdAt: UnixMilli(r.CreatedAt),
			finished:  r.unfinished == 0,
		})

		if r.unfinished == 0 {
			continue
		}

		r.size = recordSize(&r.Record)
		w.pending++
		bytes += r.size
	}
	// Once for all records of the page, because the budget's lock is shared by all shards.
	w.bytes += bytes
	w.memory.reserve(bytes)
	w.advance()
}

// Skip appends a record that no handler takes.
func (w *Window) Skip(r *streams.Record) {
	w.add([]*pendingRecord{{Record: *r}})
}

// minRecordSize is the least that a record counts towards Config.maxPendingBytes.
const minRecordSize = 256

// recordSize returns the bytes that a record counts towards Config.maxPendingBytes. Not every endpoint
// reports the size.
func recordSize(r *streams.Record) int64 {
	size := r.SizeBytes
	if size == 0 {
		size = int64(dynamo.Size(r.Keys) + dynamo.Size(r.Old) + dynamo.Size(r.New))
	}

	return max(size, minRecordSize)
}

// finish notes that one handler has finished the record r.
func (w *Window) finish(r *pendingRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()

	// The record is finished when its last handler has finished it.
	r.unfinished--
	if r.unfinished > 0 {
		return
	}

	w.slots[r.slot-w.head].finished = true
	w.pending--
	w.bytes -= r.size
	w.memory.release(r.size)
	w.advance()
	w.changed.notify()
}

// advance moves the head to the oldest unfinished record.
func (w *Window) advance() {
	for len(w.slots) > 0 && w.slots[0].finished {
		w.lastFinished = w.slots[0]
		w.slots[0] = windowSlot{} // frees the string
		w.slots = w.slots[1:]
		w.head++
	}
}

// Checkpoint returns the last sequence number up to which every record is finished,
// "" if there is none, and when that record was created.
func (w *Window) Checkpoint() (sequence string, createdAt time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.lastFinished.sequence, FromUnixMilli(w.lastFinished.createdAt)
}

// Oldest returns when the oldest unfinished record was created, zero if there is
// none, and how many records are unfinished.
func (w *Window) Oldest() (createdAt time.Time, pending int) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if len(w.slots) > 0 {
		createdAt = FromUnixMilli(w.slots[0].createdAt)
	}

	return createdAt, w.pending
}

// HasRoomFor reports whether another page may be read, if that many more records become pending.
func (w *Window) HasRoomFor(records int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.fits(records) && w.memory.hasRoom()
}

// fits reports whether the window has room after that many more records. The caller holds mu.
func (w *Window) fits(records int) bool {
	return w.pending+records < w.maxPending && len(w.slots)+records < w.maxLen
}

// WaitForRoom waits until another page may be read. It returns ctx.Err() if ctx ends first.
func (w *Window) WaitForRoom(ctx context.Context) error {
	// The usual case. waited must not be set: the reader does not wait.
	if w.HasRoomFor(0) {
		return nil
	}

	w.waits.Store(true)
	w.waited.Store(true)
	defer w.waits.Store(false)

	if err := w.waitUntil(ctx, func() bool { return w.fits(0) }); err != nil {
		return err
	}

	// A shard without pending records may read although the other shards have used up the memory.
	// Otherwise one shard that is stuck could stop all shards.
	return w.memory.waitForRoom(ctx, func() bool {
		_, pending := w.Oldest()
		return pending == 0
	})
}

// readerWaited reports whether a reader waits for room or for the shard's end, or has waited for
// room since the last call.
func (w *Window) readerWaited() bool {
	return w.waited.Swap(false) || w.waits.Load() || w.ends.Load()
}

// WaitUntilEmpty waits until every record is finished, and marks that the shard is read to its end.
// It returns ctx.Err() if ctx ends first.
func (w *Window) WaitUntilEmpty(ctx context.Context) error {
	w.ends.Store(true)
	defer w.ends.Store(false)

	return w.WaitUntilHandled(ctx)
}

// WaitUntilHandled waits until every record is finished, for a reader that reads on afterwards.
func (w *Window) WaitUntilHandled(ctx context.Context) error {
	return w.waitUntil(ctx, func() bool { return len(w.slots) == 0 })
}

// Close gives up the unfinished records. The window must not be used afterwards,
// except for checkpoint.
func (w *Window) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.memory.release(w.bytes)
	w.bytes = 0
}

// waitUntil waits until ok, which is called with mu held, returns true.
func (w *Window) waitUntil(ctx context.Context, ok func() bool) error {
	for {
		w.mu.Lock()
		if ok() {
			w.mu.Unlock()
			return nil
		}
		changed := w.changed.wait()
		w.mu.Unlock()

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// UnixMilli returns t in milliseconds, 0 for the zero time.
func UnixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}

	return t.UnixMilli()
}

// FromUnixMilli is the reverse of UnixMilli.
func FromUnixMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}

	return time.UnixMilli(ms)
}
