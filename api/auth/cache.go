package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"
)

// maxCached bounds the cache; beyond it some entry makes room.
const maxCached = 10_000

// cache remembers keys that were checked, by id. Refused ones are not in it.
type cache struct {
	mu   sync.Mutex
	keys map[string]cached
}

type cached struct {
	hash  [sha256.Size]byte
	key   Key
	until time.Time
}

func newCache() *cache { return &cache{keys: map[string]cached{}} }

func (c *cache) get(id string, hash [sha256.Size]byte, now time.Time) (Key, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	known, found := c.keys[id]
	if !found || !now.Before(known.until) || subtle.ConstantTimeCompare(known.hash[:], hash[:]) != 1 {
		return Key{}, false
	}

	return known.key, true
}

func (c *cache) put(id string, hash [sha256.Size]byte, key Key, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if len(c.keys) >= maxCached {
		for other := range c.keys {
			delete(c.keys, other)
			break
		}
	}
	c.keys[id] = cached{hash, key, until}
}
