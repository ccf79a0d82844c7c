package api

import (
	"slices"
	"sync"
)

// maxUnsignedBodies is how many bodies of unknown senders may be arriving at once. With maxUnsignedBody bytes of memory
// for each, they take 32 MB at most.
const maxUnsignedBodies = 512

// unsignedBodies are the bodies of unknown senders that are arriving. An honest body takes milliseconds, and a slow one
// takes no place that anybody else needs: if there are too many, the oldest one of the network with the most of them
// is ended.
type unsignedBodies struct {
	max int

	mu       sync.Mutex
	arriving []*unsignedBody // the oldest first
	networks map[string]int
}

type unsignedBody struct {
	network string
	end     func() // ends the reading of it
}

func newUnsignedBodies(most int) *unsignedBodies {
	return &unsignedBodies{max: most, networks: map[string]int{}}
}

// enter adds a body from the network. The caller calls the returned function when the body has arrived or failed. end
// may be called until then, and must not block.
func (u *unsignedBodies) enter(network string, end func()) (arrived func()) {
	b := &unsignedBody{network, end}

	u.mu.Lock()
	defer u.mu.Unlock()

	if len(u.arriving) >= u.max {
		u.endOne()
	}
	u.arriving = append(u.arriving, b)
	u.networks[network]++

	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()

		// It may have been ended, and its place be another one's.
		if i := slices.Index(u.arriving, b); i >= 0 {
			u.remove(i)
		}
	}
}

// endOne ends the oldest body of the network that has the most. u.mu must be held.
func (u *unsignedBodies) endOne() {
	chosen := 0
	for i, b := range u.arriving {
		if u.networks[b.network] > u.networks[u.arriving[chosen].network] {
			chosen = i
		}
	}

	u.arriving[chosen].end()
	u.remove(chosen)
}

// remove takes a body out. u.mu must be held.
func (u *unsignedBodies) remove(i int) {
	network := u.arriving[i].network
	if u.networks[network]--; u.networks[network] == 0 {
		delete(u.networks, network)
	}

	u.arriving = slices.Delete(u.arriving, i, i+1)
}
