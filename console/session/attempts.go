package session

import (
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// refusals is how many refused logins a network has, and refusedEvery how often it gets another one.
	refusals     = 10
	refusedEvery = 6 * time.Second
	// refusalsInAll and anyRefusedEvery are the same for all networks together: behind a proxy every client may have the
	// proxy's address, and without one an attacker may have many.
	refusalsInAll   = 200
	anyRefusedEvery = 300 * time.Millisecond
	// maxAccepted bounds the keys that are remembered, and acceptedFor says for how long after a login.
	maxAccepted = 1000
	acceptedFor = 24 * time.Hour
	// maxNetworks bounds the networks that are remembered. Beyond it, an arbitrary one is forgotten.
	maxNetworks = 10_000
)

// attempts counts refused logins, for each network of clients and for all together. A person who has logged in before
// with the key is not kept out by the refusals of others.
type attempts struct {
	mu       sync.Mutex
	networks map[string]*rate.Limiter
	all      *rate.Limiter
	accepted map[[sha256.Size]byte]time.Time // digests of keys, and until when they are remembered
}

func newAttempts() *attempts {
	return &attempts{
		networks: map[string]*rate.Limiter{},
		all:      rate.NewLimiter(rate.Every(anyRefusedEvery), refusalsInAll),
		accepted: map[[sha256.Size]byte]time.Time{},
	}
}

// exhausted reports whether the network has to wait.
func (a *attempts) exhausted(network string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()

	l := a.networks[network]

	return l != nil && l.Tokens() < 1 || a.all.Tokens() < 1
}

// knows reports whether a login with the key was accepted before.
func (a *attempts) knows(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()

	return time.Now().Before(a.accepted[sha256.Sum256([]byte(key))])
}

// remember notes that a login with the key was accepted.
func (a *attempts) remember(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()

	if len(a.accepted) >= maxAccepted {
		for other := range a.accepted {
			delete(a.accepted, other)
			break
		}
	}
	a.accepted[sha256.Sum256([]byte(key))] = time.Now().Add(acceptedFor)
}

// forget notes that the key is not valid any more.
func (a *attempts) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.accepted, sha256.Sum256([]byte(key)))
}

// charge counts a refused login.
func (a *attempts) charge(network string) {
	a.mu.Lock()
	defer a.mu.Unlock()

	l := a.networks[network]
	if l == nil {
		if len(a.networks) >= maxNetworks {
			for other := range a.networks {
				delete(a.networks, other)
				break
			}
		}

		l = rate.NewLimiter(rate.Every(refusedEvery), refusals)
		a.networks[network] = l
	}

	l.Allow()
	a.all.Allow()
}
