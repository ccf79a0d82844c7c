package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"
)

// maxCached is the largest number of cached keys. Beyond it, an arbitrary entry is evicted.
const maxCached = 10_000

// keyCache holds keys that were read from the table, by id. It never holds a key whose
// secret was wrong.
type keyCache struct {
	mu   sync.Mutex
	keys map[string]cachedKey
}

type cachedKey struct {
	hash  [sha256.Size]byte
	key   Key
	until time.Time
}

func newKeyCache() *keyCache { return &keyCache{keys: map[string]cachedKey{}} }

// get returns the cached key with the id, if its hash is the given one and its entry has
// not expired.
func (c *keyCache) get(id string, hash [sha256.Size]byte, now time.Time) (Key, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	entry, found := c.keys[id]
	// A wrong hash does not remove the entry: strangers must not make the owner's requests slow.
	if !found || !now.Before(entry.until) || subtle.ConstantTimeCompare(entry.hash[:], hash[:]) != 1 {
		return Key{}, false
	}

	return entry.key, true
}

// byID returns the cached key with the id, if its entry has not expired.
func (c *keyCache) byID(id string, now time.Time) (Key, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	entry, found := c.keys[id]
	if !found || !now.Before(entry.until) {
		return Key{}, false
	}

	return entry.key, true
}

func (c *keyCache) put(id string, hash [sha256.Size]byte, key Key, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if len(c.keys) >= maxCached {
		// A map yields its entries in random order.
		for other := range c.keys {
			delete(c.keys, other)
			break
		}
	}

	c.keys[id] = cachedKey{hash: hash, key: key, until: until}
}
