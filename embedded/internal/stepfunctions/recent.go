package stepfunctions

import (
	"sync"

	"ratchet/embedded/internal/stepfunctions/keys"
)

// recentBytes bounds the memory of recent. That is little compared with Pebble, whose memory holds its
// newest changes much longer than recent does.
const recentBytes = 8 << 20

// recent caches the stored form of recently active executions: the state and the newest turn that holds
// documents. The next stimulus seldom reads more. It drops the least recently used execution. Entries
// change under their execution's lock.
type recent struct {
	mu    sync.Mutex
	items map[keys.Execution]*recentItem
	// newest and oldest are the ends of the list of all items; nil if there is none.
	newest, oldest *recentItem
	bytes          int
}

type recentItem struct {
	key    keys.Execution
	state  []byte
	chunk  int64 // the id of the first event in events; 0 means no events
	events []byte

	newer, older *recentItem
}

// itemOverhead is the approximate memory of an entry without its texts, in bytes.
const itemOverhead = 192

func (i *recentItem) size() int { return cap(i.state) + cap(i.events) + itemOverhead }

// get returns the state of an execution, and its newest turn with documents.
func (r *recent) get(key keys.Execution) (recentItem, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()

	item := r.items[key]
	if item == nil {
		return recentItem{}, false
	}

	// Used, and so the newest again.
	r.unlink(item)
	r.link(item)

	return recentItem{key: key, state: item.state, chunk: item.chunk, events: item.events}, true
}

// put stores a new state and, unless chunk is 0, a new turn.
func (r *recent) put(key keys.Execution, state []byte, chunk int64, events []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()

	item := r.items[key]
	if item == nil {
		if r.items == nil {
			r.items = map[keys.Execution]*recentItem{}
		}

		item = &recentItem{key: key}
		r.items[key] = item
	} else {
		r.unlink(item)
		r.bytes -= item.size()
	}

	r.link(item)

	item.state = state
	// A turn without documents leaves the older one in place: the
	// next stimulus reads documents from there.
	if chunk != 0 {
		item.chunk, item.events = chunk, events
	}

	r.bytes += item.size()
	// The new entry stays even if it is over the bound alone.
	for r.bytes > recentBytes && r.oldest != item {
		r.drop(r.oldest)
	}
}

func (r *recent) remove(key keys.Execution) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if item := r.items[key]; item != nil {
		r.drop(item)
	}
}

func (r *recent) drop(item *recentItem) {
	r.bytes -= item.size()
	r.unlink(item)
	delete(r.items, item.key)
}

// link makes an item, which is not in the list, the newest.
func (r *recent) link(item *recentItem) {
	item.older = r.newest
	if r.newest != nil {
		r.newest.newer = item
	} else {
		r.oldest = item
	}

	r.newest = item
}

// unlink takes an item out of the list.
func (r *recent) unlink(item *recentItem) {
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
