package streams

import (
	"context"
	"sync"
	"time"
)

// window holds the records of one shard from the oldest unfinished one on, in
// the order of the stream. The checkpoint is the last record before it.
type window struct {
	maxPending int
	maxLen     int
	memory     *memory

	mu      sync.Mutex
	slots   []slot // ring
	head    uint64 // number of the oldest slot
	next    uint64 // number of the next record
	pending int
	bytes   int64
	last    slot          // the newest finished slot before head
	moved   chan struct{} // made by a waiter, closed when it should look again
}

type slot struct {
	seq  string
	at   int64 // creation, Unix ms
	done bool
}

// entry is one record on its way through the handlers.
type entry struct {
	rec  Record
	slot uint64
	size int64
	left int // handlers that have not finished it; guarded by window.mu
}

func newWindow(maxPending, maxLen int, m *memory) *window {
	return &window{maxPending: maxPending, maxLen: maxLen, memory: m, slots: make([]slot, 64)}
}

// add appends a record that e.left handlers must finish.
func (w *window) add(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.size = max(e.rec.SizeBytes, 256)
	e.slot = w.push(&e.rec, false)
	w.pending++
	w.bytes += e.size
	w.memory.take(e.size)
}

// skip appends a record that concerns nobody.
func (w *window) skip(r *Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.push(r, true)
	w.advance()
}

func (w *window) push(r *Record, done bool) uint64 {
	if int(w.next-w.head) == len(w.slots) {
		w.grow()
	}
	n := w.next
	w.slots[n%uint64(len(w.slots))] = slot{seq: r.SequenceNumber, at: unixMilli(r.CreatedAt), done: done}
	w.next++

	return n
}

func (w *window) grow() {
	bigger := make([]slot, 2*len(w.slots))
	for n := w.head; n != w.next; n++ {
		bigger[n%uint64(len(bigger))] = w.slots[n%uint64(len(w.slots))]
	}
	w.slots = bigger
}

// finish notes that one handler is done with e.
func (w *window) finish(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if e.left--; e.left > 0 {
		return
	}
	w.slots[e.slot%uint64(len(w.slots))].done = true
	w.pending--
	w.bytes -= e.size
	w.memory.give(e.size)
	w.advance()

	if w.moved != nil {
		close(w.moved)
		w.moved = nil
	}
}

func (w *window) advance() {
	for w.head != w.next {
		s := &w.slots[w.head%uint64(len(w.slots))]
		if !s.done {
			return
		}
		w.last = *s
		*s = slot{}
		w.head++
	}
}

// checkpoint is the last sequence number up to which everything is finished.
func (w *window) checkpoint() (seq string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.seq, fromMilli(w.last.at)
}

// oldest is when the oldest unfinished record was created, and how many records
// are unfinished.
func (w *window) oldest() (at time.Time, pending int) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.head != w.next {
		at = fromMilli(w.slots[w.head%uint64(len(w.slots))].at)
	}

	return at, w.pending
}

// room waits until another page may be read.
func (w *window) room(ctx context.Context) error {
	err := w.wait(ctx, func() bool { return w.pending < w.maxPending && int(w.next-w.head) < w.maxLen })
	if err != nil {
		return err
	}

	return w.memory.room(ctx, func() bool { _, n := w.oldest(); return n == 0 })
}

// close gives up what is unfinished; nothing is added or finished any more.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.memory.give(w.bytes)
	w.bytes = 0
}

// empty waits until every record is finished.
func (w *window) empty(ctx context.Context) error {
	return w.wait(ctx, func() bool { return w.head == w.next })
}

func (w *window) wait(ctx context.Context, ok func() bool) error {
	for {
		w.mu.Lock()
		if ok() {
			w.mu.Unlock()
			return nil
		}

		if w.moved == nil {
			w.moved = make(chan struct{})
		}
		moved := w.moved
		w.mu.Unlock()

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

// memory counts the bytes of unfinished records over all shards.
type memory struct {
	limit int64

	mu    sync.Mutex
	used  int64
	moved chan struct{} // made by a waiter, closed when it should look again
}

func (m *memory) take(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used += n
}

func (m *memory) give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.used -= n; m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}

// room waits until there is room or needy says that there must be.
func (m *memory) room(ctx context.Context, needy func() bool) error {
	for {
		m.mu.Lock()
		if m.used < m.limit {
			m.mu.Unlock()
			return nil
		}

		if m.moved == nil {
			m.moved = make(chan struct{})
		}
		moved := m.moved
		m.mu.Unlock()

		if needy() {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilli(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
