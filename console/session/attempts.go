package session

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// refusals is how many refused logins a network has, and refusedEvery how often it gets another one.
	refusals     = 10
	refusedEvery = 6 * time.Second
	// maxNetworks bounds the networks that are remembered. Beyond it, an arbitrary one is forgotten.
	maxNetworks = 10_000
)

// attempts counts refused logins for each network of clients.
type attempts struct {
	mu       sync.Mutex
	networks map[string]*rate.Limiter
}

func newAttempts() *attempts { return &attempts{networks: map[string]*rate.Limiter{}} }

// exhausted reports whether the network has to wait.
func (a *attempts) exhausted(network string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()

	l := a.networks[network]

	return l != nil && l.Tokens() < 1
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
}
