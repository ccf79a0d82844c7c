package recent

import (
	"sync"

	"ratchet/embedded/internal/stepfunctions/keys"
)

// most bounds the memory of a cache, in bytes. That is little compared with Pebble, whose memory holds its
// newest changes much longer.
const most = 8 << 20

// Cache caches the stored form of recently active executions: the state and the newest turn that holds
// documents. The next stimulus seldom reads more. It drops the least recently used execution. Entries
// change under their execution's lock.
type Cache struct {
	mu    sync.Mutex
	items map[keys.Execution]*Item
	// newest and oldest are the ends of the list of all items; nil if there is none.
	newest, oldest *Item
	bytes          int
}

// Item is an execution in a cache.
type Item struct {
	key    keys.Execution
	State  []byte
	Chunk  int64 // the id of the first event in Events; 0 means no events
	Events []byte

	newer, older *Item
}

// itemOverhead is the approximate memory of an entry without its texts, in bytes.
const itemOverhead = 192

func (i *Item) size() int { return cap(i.State) + cap(i.Events) + itemOverhead }

// Get returns the state of an execution, and its newest turn with documents.
func (r *Cache) Get(key keys.Execution) (Item, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()

	item := r.items[key]
	if item == nil {
		return Item{}, false
	}

	// Used, and so the newest again.
	r.unlink(item)
	r.link(item)

	return Item{key: key, State: item.State, Chunk: item.Chunk, Events: item.Events}, true
}

// Put stores a new state and, unless chunk is 0, a new turn.
func (r *Cache) Put(key keys.Execution, state []byte, chunk int64, events []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()

	item := r.items[key]
	if item == nil {
		if r.items == nil {
			r.items = map[keys.Execution]*Item{}
		}

		item = &Item{key: key}
		r.items[key] = item
	} else {
		r.unlink(item)
		r.bytes -= item.size()
	}

	r.link(item)

	item.State = state
	// A turn without documents leaves the older one in place: the
	// next stimulus reads documents from there.
	if chunk != 0 {
		item.Chunk, item.Events = chunk, events
	}

	r.bytes += item.size()
	// The new entry stays even if it is over the bound alone.
	for r.bytes > most && r.oldest != item {
		r.drop(r.oldest)
	}
}

// Remove removes an execution.
func (r *Cache) Remove(key keys.Execution) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if item := r.items[key]; item != nil {
		r.drop(item)
	}
}

func (r *Cache) drop(item *Item) {
	r.bytes -= item.size()
	r.unlink(item)
	delete(r.items, item.key)
}

// link makes an item, which is not in the list, the newest.
func (r *Cache) link(item *Item) {
	item.older = r.newest
	if r.newest != nil {
		r.newest.newer = item
	} else {
		r.oldest = item
	}

	r.newest = item
}

// unlink takes an item out of the list.
func (r *Cache) unlink(item *Item) {
	if item.newer != nil {
		item.newer.older = item.older
	} else {
		r.newest = item.older
	}

	if item.older != nil {
		item.older.newer = item.newer
	} else {
		r.oldest = item.newer
	}

	item.newer, item.older = nil, nil
}
