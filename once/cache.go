package once

import (
	"bytes"
	"container/list"
	"sync"
	"time"
)

// finished is a claim that will not change before it expires.
type finished struct {
	print   []byte
	fence   int64
	result  []byte
	failure *Failure
	until   time.Time // zero: it stays
}

// cache remembers the finished claims that were used last. A nil cache is empty.
type cache struct {
	mu    sync.Mutex
	room  int
	byKey map[string]*list.Element
	order *list.List // of entries, the one used last in front
}

type entry struct {
	key string
	finished
}

func newCache(room int) *cache {
	if room <= 0 {
		return nil
	}
	return &cache{room: room, byKey: make(map[string]*list.Element, room), order: list.New()}
}

func (c *cache) put(key string, f finished) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	if e, ok := c.byKey[key]; ok {
		c.order.Remove(e)
	}

	c.byKey[key] = c.order.PushFront(entry{key, f})
	if c.order.Len() > c.room {
		c.drop(c.order.Back())
	}
}

func (c *cache) get(key string, now time.Time) (finished, bool) {
	if c == nil {
		return finished{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	e, ok := c.byKey[key]
	if !ok {
		return finished{}, false
	}

	f := e.Value.(entry).finished
	if !f.until.IsZero() && f.until.Unix() < now.Unix() {
		c.drop(e)
		return finished{}, false
	}
	c.order.MoveToFront(e)

	return f, true
}

func (c *cache) forget(key string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
}

func (c *cache) drop(e *list.Element) {
	delete(c.byKey, e.Value.(entry).key)
	c.order.Remove(e)
}

// cached answers from the process's own memory: only what has ended, and only to the
// same payload.
func (c *Claims) cached(a *attempt) (*Claim, error) {
	now := c.cfg.Now()
	if !a.keyEnd.IsZero() && !now.Before(a.keyEnd) {
		return nil, ErrKeyExpired
	}

	f, ok := c.cache.get(a.key, now)
	switch {
	case !ok:
		return nil, nil //nolint:nilnil // nothing remembered
	case !a.matches(f.print):
		return nil, ErrMismatch
	case f.failure != nil:
		return nil, f.failure
	}

	return &Claim{Outcome: Replayed, Result: bytes.Clone(f.result), key: a.key, fence: f.fence, claims: c}, nil
}

// remember keeps a finished claim, unless its result is a large one.
func (c *Claims) remember(key string, f finished) {
	if len(f.result) <= c.cfg.Inline {
		f.result = bytes.Clone(f.result) // nil stays nil
		c.cache.put(key, f)
	}
}
