package api

import (
	"crypto/sha256"
	"sync"
)

// maxCredentials is the largest number of remembered credentials. Beyond it, an arbitrary
// one is evicted.
const maxCredentials = 10_000

// credentialCache remembers the digests of credentials that were valid when they were last
// checked. It replaces no check: it only exempts a credential from the limit on invalid
// credentials of its address.
type credentialCache struct {
	mu      sync.Mutex
	digests map[[sha256.Size]byte]struct{}
}

func newCredentialCache() *credentialCache {
	return &credentialCache{digests: map[[sha256.Size]byte]struct{}{}}
}

func (c *credentialCache) has(token string) bool {
	digest := sha256.Sum256([]byte(token))

	c.mu.Lock()
	defer c.mu.Unlock()

	_, found := c.digests[digest]

	return found
}

func (c *credentialCache) add(token string) {
	digest := sha256.Sum256([]byte(token))

	c.mu.Lock()
	defer c.mu.Unlock()

	if _, found := c.digests[digest]; !found && len(c.digests) >= maxCredentials {
		for other := range c.digests {
			delete(c.digests, other)
			break
		}
	}

	c.digests[digest] = struct{}{}
}

func (c *credentialCache) remove(token string) {
	digest := sha256.Sum256([]byte(token))

	c.mu.Lock()
	defer c.mu.Unlock()

	delete(c.digests, digest)
}
