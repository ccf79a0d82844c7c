package queues

import (
	"context"
	"errors"
	"sync"
	"time"
)

// held is a message from its receive to its end.
type held struct {
	m      Message
	at     time.Time // received
	ctx    context.Context
	cancel context.CancelCauseFunc

	// mu is held while a call about the message's visibility is on its way, so that
	// none that extends it arrives behind one that ends it.
	mu       sync.Mutex
	extended time.Time // start of the last call that was accepted; at first: at
	released bool      // its visibility is no longer extended

	acked   chan error // the end of its deletion
	ackBy   time.Time
	refused int // deletions that failed
}

// lost reports whether the message must be taken for somebody else's.
func (h *held) lost() bool { return errors.Is(context.Cause(h.ctx), ErrMessageLost) }

// release ends the extensions; none is on its way when it returns.
func (h *held) release() {
	h.mu.Lock()
	h.released = true
	h.mu.Unlock()
}

// pardons remembers which receives were no attempts. It is a help, not a record: it
// forgets the oldest beyond its size, and all at the end of the process.
type pardons struct {
	mu   sync.Mutex
	n    map[string]int
	ring [4096]string // ids in the order in which they came
	next int
}

func (p *pardons) add(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if _, known := p.n[id]; !known {
		delete(p.n, p.ring[p.next])
		p.ring[p.next] = id
		p.next = (p.next + 1) % len(p.ring)
	}

	if p.n == nil {
		p.n = map[string]int{}
	}
	p.n[id]++
}

func (p *pardons) of(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n[id]
}
