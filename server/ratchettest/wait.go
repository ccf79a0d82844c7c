package ratchettest

import (
	"sync"
	"time"
)

// looks is how often a wait looks during Config.Patience without an event. Most looks come sooner, after
// an event. But some changes, such as the end of an execution, send no event.
const looks = 1200

// Wait waits until check returns done. After [Config.Patience] it fails the test with what, which names
// the awaited content, and the newest status of check, which says what was there instead. An error of
// check fails the test at once.
func (e *Env) Wait(what string, check func() (done bool, status string, err error)) {
	e.t.Helper()
	e.wait(what, check, func() string { return "" })
}

// wait is Wait with a reason, which is asked for after a vain wait and added to the status.
func (e *Env) wait(what string, check func() (done bool, status string, err error), reason func() string) {
	e.t.Helper()

	patience := time.NewTimer(e.core.patience)
	defer patience.Stop()

	look := time.NewTicker(e.core.patience / looks)
	defer look.Stop()

	for {
		// Taken before the check, so that an event during the check leads to another check.
		event := e.core.events.next()

		done, status, err := check()
		switch {
		case err != nil:
			e.t.Fatalf("wait for %s: %v", what, err)
		case done:
			return
		}

		select {
		case <-event:
		case <-look.C:
		case <-e.t.Context().Done():
			e.t.Fatalf("wait for %s: the test has ended; last seen: %s", what, status)
		case <-patience.C:
			e.t.Fatalf("waited %v in vain for %s; last seen: %s%s", e.core.patience, what, status, reason())
		}
	}
}

// broadcast wakes all goroutines that wait for the next event. The zero value is ready to use.
type broadcast struct {
	mu      sync.Mutex
	waiting chan struct{} // closed by the next event; nil if nothing waits
}

// next returns a channel that the next event closes.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.waiting == nil {
		b.waiting = make(chan struct{})
	}

	return b.waiting
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.waiting != nil {
		close(b.waiting)
		b.waiting = nil
	}
}
