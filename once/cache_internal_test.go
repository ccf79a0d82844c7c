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
