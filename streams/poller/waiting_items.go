package poller

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// waitingItems is the set of items that this worker knows to have a row in the retry queue. It may
// have items whose row is gone; append finds that out. It has every waiting item of the shards that
// this worker holds: it is loaded after a shard's lease is taken, and from then on only this worker
// adds rows for the shard's items, except for additions on request, which learnAdditions loads.
type waitingItems struct {
	table    *retryqueue.Table
	handlers []streams.Handler

	loading   worker.CallLock // held during a load, so that callers share it
	loadBegan time.Time

	count atomic.Int64 // of items

	mu    sync.RWMutex
	added uint64                 // counts the calls of add
	items map[waitingItem]uint64 // the value of added when the item was added or first found; see removeIf
}

type waitingItem struct {
	handler int // index in handlers
	hash    store.ItemHash
}

// load reads the rows of all handlers. Afterwards every row is known that existed when
// load was called.
func (w *waitingItems) load(ctx context.Context) error {
	asked := time.Now()

	w.loading.Lock()
	defer w.loading.Unlock()

	// While this call waited, another caller's load began and has ended. It has read every row that
	// existed when this call began.
	if w.loadBegan.After(asked) {
		return nil
	}
	began := time.Now()

	w.mu.RLock()
	before := w.added
	w.mu.RUnlock()

	found := map[waitingItem]bool{}
	for i, h := range w.handlers {
		rows, err := w.table.List(ctx, h.Name)
		if err != nil {
			return err
		}

		for _, row := range rows {
			found[waitingItem{i, row.Hash}] = true
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	// Items that were added before the load and were not found have no row. An item that was added
	// during the load may have one.
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

// empty reports that the set has no item. It is cheaper than has.
func (w *waitingItems) empty() bool { return w.count.Load() == 0 }

func (w *waitingItems) has(item waitingItem) bool {
	_, ok := w.version(item)
	return ok
}

// version returns a number that is higher when the item was added again; see removeIf.
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
