package streams

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// waitingItems is the set of items that this worker knows to have a row in the retry
// queue. It may have items whose row is gone: the retry table tells when a record is
// added. It lacks no item of the shards that this worker holds, because it is loaded
// after a lease is taken, and from then on only this worker adds rows for the shard's
// items.
type waitingItems struct {
	table    *retryTable
	handlers []Handler

	loading   callLock // held during a load, so that callers share it
	loadBegan time.Time

	count atomic.Int64 // of items

	mu    sync.RWMutex
	added uint64                 // counts the calls of add
	items map[waitingItem]uint64 // added, when the item was added
}

type waitingItem struct {
	handler int // index in handlers
	hash    laneHash
}

// load reads the rows of all handlers. Afterwards every row is known that existed when
// load was called.
func (w *waitingItems) load(ctx context.Context) error {
	asked := time.Now()

	w.loading.lock()
	defer w.loading.unlock()

	// Another caller's load began after this call: it has all that this one would read.
	if w.loadBegan.After(asked) {
		return nil
	}
	began := time.Now()

	w.mu.RLock()
	before := w.added
	w.mu.RUnlock()

	found := map[waitingItem]bool{}
	for i, h := range w.handlers {
		rows, err := w.table.list(ctx, h.Name)
		if err != nil {
			return err
		}

		for _, row := range rows {
			found[waitingItem{i, row.hash}] = true
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	// Items that were known before and were not found are gone. An item that was added since
	// may not have been found yet.
	for item, n := range w.items {
		if n <= before && !found[item] {
			delete(w.items, item)
		}
	}

	for item := range found {
		if _, known := w.items[item]; !known {
			w.items[item] = before
		}
	}
	w.loadBegan = began
	w.count.Store(int64(len(w.items)))

	return nil
}

// empty reports that no item waits, as far as is known. It is cheaper than has.
func (w *waitingItems) empty() bool { return w.count.Load() == 0 }

func (w *waitingItems) has(item waitingItem) bool {
	_, ok := w.version(item)
	return ok
}

// version tells apart the times that an item was added; see removeIf.
func (w *waitingItems) version(item waitingItem) (uint64, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()

	n, ok := w.items[item]

	return n, ok
}

func (w *waitingItems) add(item waitingItem) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.added++
	w.items[item] = w.added
	w.count.Store(int64(len(w.items)))
}

func (w *waitingItems) remove(item waitingItem) {
	w.mu.Lock()
	defer w.mu.Unlock()

	delete(w.items, item)
	w.count.Store(int64(len(w.items)))
}

// removeIf removes the item unless it was added after version returned n.
func (w *waitingItems) removeIf(item waitingItem, n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.items[item] == n {
		delete(w.items, item)
		w.count.Store(int64(len(w.items)))
	}
}
