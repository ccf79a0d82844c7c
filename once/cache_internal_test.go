package once

import (
	"sync"
	"testing"
	"time"
)

// TestCallersShareTheCache: goroutines put, get and forget the same keys. No engine stands between them, whose locks would
// order them for the race detector.
func TestCallersShareTheCache(t *testing.T) {
	c := newCache(2)
	now := time.Now()

	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n := range 100 {
				key := string(rune('a' + n%3))
				c.put(key, finished{result: []byte(key)})

				if f, found := c.get(key, now); found && string(f.result) != key {
					t.Errorf("%s: %q", key, f.result)
				}

				if n%10 == 0 {
					c.forget(key)
				}
			}
		})
	}
	group.Wait()
}

// TestTheMemoryOfACacheHasALock: the calls of a process share its cache. Each goroutine makes one call: a second one would
// order the first before those of others, and the race detector would not see that the first one holds no lock.
func TestTheMemoryOfACacheHasALock(t *testing.T) {
	c := newCache(8)
	put := func() { c.put("k", finished{}) }
	get := func() { c.get("k", time.Now()) }
	forget := func() { c.forget("k") }

	for _, call := range []func(){put, get, forget} {
		put()

		var group sync.WaitGroup
		for _, run := range []func(){call, put, call, forget} {
			group.Go(run)
		}
		group.Wait()
	}

	if forget(); c.order.Len() != 0 || len(c.byKey) != 0 {
		t.Errorf("%d entries are left of none", c.order.Len())
	}
}
