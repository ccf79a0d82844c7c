package queues

import (
	"context"
	"errors"
	"sync"
	"time"
)

// inFlight is one message from its receive to its end.
type inFlight struct {
	message    Message
	receivedAt time.Time
	ctx        context.Context // the handler's
	cancel     context.CancelCauseFunc

	// mu is held while a call that extends the visibility is on its way, so that none
	// arrives after the call that ends it.
	mu         sync.Mutex
	extendedAt time.Time // start of the last accepted extension; at first: receivedAt
	released   bool      // no longer extended

	deleted        chan error // the result of the deletion
	deleteBy       time.Time
	deleteFailures int
}

// isLost reports whether another receiver may have the message.
func (f *inFlight) isLost() bool { return errors.Is(context.Cause(f.ctx), ErrMessageLost) }

// release ends the extensions; none is on its way when it returns.
func (f *inFlight) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = true
}

// uncountedReceives remembers how often a message was received without that being an
// attempt: its work was in progress elsewhere, or it was returned unread. It forgets the
// oldest messages beyond its size, and everything with the end of the process; the
// message then has fewer attempts.
type uncountedReceives struct {
	mu     sync.Mutex
	counts map[string]int
	ring   [4096]string // the IDs, in the order of their first receive
	next   int          // in ring
}

func (u *uncountedReceives) add(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()

	if u.counts == nil {
		u.counts = map[string]int{}
	}

	if _, known := u.counts[id]; !known {
		delete(u.counts, u.ring[u.next])
		u.ring[u.next] = id
		u.next = (u.next + 1) % len(u.ring)
	}
	u.counts[id]++
}

func (u *uncountedReceives) of(id string) int {
	u.mu.Lock()
	defer u.mu.Unlock()

	return u.counts[id]
}
