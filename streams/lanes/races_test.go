package lanes

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"ratchet/streams"
)

// atOnce runs each call in a goroutine of its own. Each makes one call: a second one would order the first before those of
// others, and the race detector would not see that the first one holds no lock.
func atOnce(run ...func()) {
	var group sync.WaitGroup
	for _, call := range run {
		group.Go(call)
	}
	group.Wait()
}

// TestTheMemoryOfACircuitHasALock: the lanes of a handler share its circuit.
func TestTheMemoryOfACircuitHasALock(t *testing.T) {
	now := time.Now()

	for name, call := range map[string]func(*Circuit){
		"Admit":     func(c *Circuit) { c.Admit(now) },
		"Wait":      func(c *Circuit) { c.Wait(now) },
		"Open":      func(c *Circuit) { c.Open() },
		"succeeded": func(c *Circuit) { c.succeeded() },
		"failedFor": func(c *Circuit) { c.failedFor("other", now) },
		"undecided": func(c *Circuit) { c.undecided(now) },
	} {
		for failed := range 2 {
			c := newCircuit(&streams.Handler{Timeout: time.Minute})
			for i := range circuitItems - 1 + failed {
				c.failedFor(strconv.Itoa(i), now)
			}

			atOnce(func() { call(c) }, func() { c.failedFor("o", now) }, func() { call(c) }, func() { c.succeeded() })

			if c.succeeded(); c.Open() {
				t.Errorf("%s: the circuit is open after a success", name)
			}
		}
	}
}
