package lanes

import (
	"sync"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/calls"
)

const (
	// circuitItems is how many different items must have failed, without a success in
	// between, before the handler itself counts as failing.
	circuitItems = 5
	// circuitMaxPause is the longest time between two probes.
	circuitMaxPause = 30 * time.Second
)

// Circuit keeps a handler that fails for every item from being called for each of
// them: while it is open, one call at a time probes whether the outage is over. It
// opens after failures of several items in a row, so that an item that fails alone
// does not delay the others.
type Circuit struct {
	backoff worker.Backoff
	timeout time.Duration // of one call

	mu       sync.Mutex
	failed   map[string]struct{} // up to circuitItems items that failed since the last success
	failures int                 // failed probes, and the failure that opened the circuit
	blocked  time.Time           // while open: when the next probe is admitted, unless the running one ends sooner
	probing  bool                // a probe runs
}

func newCircuit(h *streams.Handler) *Circuit {
	pause := min(calls.Backoff(h.Retry).Max, circuitMaxPause)

	return &Circuit{
		backoff: worker.Backoff{Base: min(calls.Backoff(h.Retry).Base, pause), Max: pause},
		timeout: h.Timeout,
		failed:  map[string]struct{}{},
	}
}

// Admit returns 0 if a call may be made now, otherwise how long to wait. Every call
// that is admitted must be reported.
func (c *Circuit) Admit(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()

	if wait := c.untilProbe(now); wait > 0 || !c.isOpen() {
		return wait
	}

	// This call is the probe; the others wait for its result. They wait for the handler's timeout
	// at most: if the result gets lost, the next probe is admitted then.
	c.blocked, c.probing = now.Add(c.timeout), true

	return 0
}

// Wait returns what Admit would return, without admitting a call.
func (c *Circuit) Wait(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.untilProbe(now)
}

// untilProbe returns the time until the next probe may be admitted, 0 if it may be now or the circuit is
// closed. While a probe runs this is an estimate: most probes take less time than the pause before them.
// The caller holds mu.
func (c *Circuit) untilProbe(now time.Time) time.Duration {
	if !c.isOpen() {
		return 0
	}

	wait := max(c.blocked.Sub(now), 0)
	if c.probing {
		wait = min(wait, c.backoff.Delay(c.failures))
	}

	return wait
}

// Open reports whether the handler counts as failing.
func (c *Circuit) Open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.isOpen()
}

// isOpen is Open for a caller that holds mu.
func (c *Circuit) isOpen() bool { return len(c.failed) >= circuitItems }

// succeeded notes that the far side answered. A permanent error is an answer, too. succeeded
// reports whether the circuit was open and is closed now.
func (c *Circuit) succeeded() (closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	closed = c.isOpen()
	clear(c.failed)
	c.failures, c.probing = 0, false

	return closed
}

// failedFor notes that a call for the item failed. It reports whether this failure has opened the
// circuit.
func (c *Circuit) failedFor(item string, now time.Time) (opened bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if !c.isOpen() {
		c.failed[item] = struct{}{}
		opened = c.isOpen()
	}

	// An item failed alone; or the circuit is open, and without a probe this call began before it opened.
	if !opened && !c.probing {
		return false
	}

	c.failures++
	c.probing = false
	c.blocked = now.Add(c.backoff.Delay(c.failures))

	return opened
}

// undecided notes that a call has shown nothing about the far side, or that an admitted call was
// not made. The next probe may be made at once.
func (c *Circuit) undecided(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.probing {
		c.blocked, c.probing = now, false
	}
}
