package api

import (
	"crypto/sha256"
	"sync"
)

// maxKnown bounds how many credentials are remembered; beyond it some one makes room.
const maxKnown = 10_000

// acquainted remembers, by their digests, credentials that were good the last time. They
// are checked as ever; what others behind the same address bring wrong does not keep
// them out.
type acquainted struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]struct{}
}

func newAcquainted() *acquainted { return &acquainted{all: map[[sha256.Size]byte]struct{}{}} }

func (a *acquainted) has(token string) bool {
	digest := sha256.Sum256([]byte(token))
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.all[digest]

	return known
}

func (a *acquainted) add(token string) {
	digest := sha256.Sum256([]byte(token))
	a.mu.Lock()
	defer a.mu.Unlock()

	if _, known := a.all[digest]; !known && len(a.all) >= maxKnown {
		for other := range a.all {
			delete(a.all, other)
			break
		}
	}
	a.all[digest] = struct{}{}
}

func (a *acquainted) drop(token string) {
	digest := sha256.Sum256([]byte(token))
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, digest)
}
