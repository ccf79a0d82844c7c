package lanes

import (
	"context"
	"sync"
)

// Memory counts the bytes of unfinished records over all shards. A reader
// waits for room before it reads a page. It cannot know the page's size, so one page may
// exceed the limit.
type Memory struct {
	Limit int64

	mu      sync.Mutex
	used    int64
	changed notifier
}

func (m *Memory) reserve(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.used += bytes
}

// hasRoom reports whether less than the limit is used.
func (m *Memory) hasRoom() bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.used < m.Limit
}

func (m *Memory) release(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.used -= bytes
	m.changed.notify()
}

// waitForRoom waits until less than the limit is used or exempt returns true. It calls exempt again
// after every release. It returns ctx.Err() if ctx ends first.
func (m *Memory) waitForRoom(ctx context.Context, exempt func() bool) error {
	for {
		m.mu.Lock()
		if m.used < m.Limit {
			m.mu.Unlock()
			return nil
		}
		changed := m.changed.wait()
		m.mu.Unlock()

		// Not under mu: exempt locks a window, and a window calls reserve and release
		// under its own lock.
		if exempt() {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// notifier wakes goroutines that wait for a change. Its methods are called with the
// owner's lock held.
type notifier struct{ changed chan struct{} }

// wait returns a channel that the next notify closes.
func (n *notifier) wait() <-chan struct{} {
	if n.changed == nil {
		n.changed = make(chan struct{})
	}

	return n.changed
}

func (n *notifier) notify() {
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}
