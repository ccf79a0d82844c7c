package once

import (
	"bytes"
	"container/list"
	"sync"
	"time"
)

// finished is a claim that cannot change before it expires.
type finished struct {
	fingerprint []byte
	fence       int64
	result      []byte
	failure     *Failure
	until       time.Time // zero: it does not expire
}

// cache keeps the finished claims that were used last. A nil cache is always empty.
type cache struct {
	mu    sync.Mutex
	limit int
	byKey map[string]*list.Element
	order *list.List // of cacheEntry, the one used last in front
}

type cacheEntry struct {
	key string
	finished
}

func newCache(limit int) *cache {
	if limit <= 0 {
		return nil
	}

	return &cache{limit: limit, byKey: make(map[string]*list.Element, limit), order: list.New()}
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

	c.byKey[key] = c.order.PushFront(cacheEntry{key, f})
	if c.order.Len() > c.limit {
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

	f := e.Value.(cacheEntry).finished
	// Whole seconds are compared, as in the table.
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
	delete(c.byKey, e.Value.(cacheEntry).key)
	c.order.Remove(e)
}

// cached answers from the cache of this process. It returns nil and no error if the cache
// has no finished claim of the key.
func (c *Claims) cached(a *attempt) (*Claim, error) {
	now := c.clock.Now()
	// The end of a key counts even if this process still has the result.
	if a.keyEnded(now) {
		return nil, ErrKeyExpired
	}

	f, ok := c.cache.get(a.key, now)
	switch {
	case !ok:
		return nil, nil //nolint:nilnil // an empty cache is a valid result
	case !a.matches(f.fingerprint):
		return nil, ErrMismatch
	case f.failure != nil:
		return nil, f.failure
	}

	return &Claim{Outcome: Replayed, Result: bytes.Clone(f.result), key: a.key, fence: f.fence, claims: c}, nil
}

// remember puts a finished claim into the cache, unless its result is a large one.
func (c *Claims) remember(key string, f finished) {
	if len(f.result) <= c.cfg.Inline {
		f.result = bytes.Clone(f.result) // nil stays nil
		c.cache.put(key, f)
	}
}
