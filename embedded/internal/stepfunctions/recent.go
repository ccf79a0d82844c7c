package stepfunctions

import (
	"container/list"
	"sync"
)

// recentBytes bounds the memory of recent.
const recentBytes = 32 << 20

// recent caches the stored form of recently active executions: the state and the newest
// turn that holds documents, which is nearly all that the next stimulus reads. It drops
// the least recently used. Entries change under their execution's lock.
type recent struct {
	mu    sync.Mutex
	order list.List // of *recentItem, newest first
	items map[executionKey]*list.Element
	bytes int
}

type recentItem struct {
	key    executionKey
	state  []byte
	chunk  int64 // the id of the first event in events; 0 means no events
	events []byte
}

// itemOverhead is the approximate memory of an entry without its texts, in bytes.
const itemOverhead = 256

func (i *recentItem) size() int { return len(i.state) + len(i.events) + itemOverhead }

func (r *recent) get(key executionKey) (recentItem, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()

	e := r.items[key]
	if e == nil {
		return recentItem{}, false
	}

	r.order.MoveToFront(e)

	return *e.Value.(*recentItem), true
}

// put stores a new state and, unless chunk is 0, a new turn.
func (r *recent) put(key executionKey, state []byte, chunk int64, events []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()

	e := r.items[key]
	if e == nil {
		if r.items == nil {
			r.items = map[executionKey]*list.Element{}
		}

		e = r.order.PushFront(&recentItem{key: key})
		r.items[key] = e
		r.bytes += itemOverhead
	} else {
		r.order.MoveToFront(e)
	}

	item := e.Value.(*recentItem)
	r.bytes -= item.size()
	item.state = state
	if chunk != 0 {
		item.chunk, item.events = chunk, events
	}

	r.bytes += item.size()
	for r.bytes > recentBytes && r.order.Len() > 1 {
		r.drop(r.order.Back())
	}
}

func (r *recent) remove(key executionKey) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if e := r.items[key]; e != nil {
		r.drop(e)
	}
}

func (r *recent) drop(e *list.Element) {
	item := e.Value.(*recentItem)
	r.bytes -= item.size()
	r.order.Remove(e)
	delete(r.items, item.key)
}
