package lanes

import (
	"context"
	"sync"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// Waiting is the set of items that this worker knows to have rows in the retry queue. It may
// have items whose rows are gone; park finds that out. It has every waiting item of the shards that
// this worker holds: it is loaded after a shard's lease is taken, and from then on only this worker
// adds rows for the shard's items, except for additions on request, which learnAdditions loads.
type Waiting struct {
	table    *retryqueue.Table
	handlers []streams.Handler

	loading   worker.CallLock // held during a load, so that callers share it
	loadBegan time.Time

	mu    sync.RWMutex
	added uint64          // counts the calls of add
	items map[Item]uint64 // the value of added when the item was added or last found; see RemoveIf
}

// Item is an item whose records wait.
type Item struct {
	Handler int // index in handlers
	Hash    store.ItemHash
}

// Load reads the rows of all handlers. Afterwards every row is known that existed when
// Load was called.
func (w *Waiting) Load(ctx context.Context) error {
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

	found := map[Item]bool{}
	for i, h := range w.handlers {
		rows, err := w.table.List(ctx, h.Name)
		if err != nil {
			return err
		}

		for _, row := range rows {
			found[Item{i, row.Hash}] = true
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

	// A found item counts as added: who has looked before the load does not remove it.
	w.added++
	for item := range found {
		w.items[item] = w.added
	}
	w.loadBegan = began

	return nil
}

// Len returns the number of items.
func (w *Waiting) Len() int {
	w.mu.RLock()
	defer w.mu.RUnlock()

	return len(w.items)
}

// Has reports whether records of the item wait.
func (w *Waiting) Has(item Item) bool {
	_, ok := w.Version(item)
	return ok
}

// Version returns a number that is higher when the item was added again; see RemoveIf.
func (w *Waiting) Version(item Item) (uint64, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()

	n, ok := w.items[item]

	return n, ok
}

// Add notes that records of the item wait.
func (w *Waiting) Add(item Item) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.added++
	w.items[item] = w.added
}

// RemoveIf removes the item unless it was added after Version returned n.
func (w *Waiting) RemoveIf(item Item, n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.items[item] == n {
		delete(w.items, item)
	}
}
