package notify

import (
	"time"

	"ratchet/internal/worker"
)

// circuit keeps a worker from trying an endpoint that fails every time. After failuresToOpen
// failures in a row it is open: no attempt starts until a time. Then one attempt at a time
// probes the endpoint, and the first success closes the circuit.
type circuit struct {
	failures int
	opened   int // how often, since the last success
	until    time.Time
}

const failuresToOpen = 5

// reopen is how long the circuit stays open.
var reopen = worker.Backoff{Base: time.Second, Max: 5 * time.Minute}

func (c *circuit) limit(now time.Time, all int) int {
	switch {
	case now.Before(c.until):
		return 0
	case c.opened > 0:
		return 1
	}

	return all
}

// succeeded closes the circuit.
func (c *circuit) succeeded() { *c = circuit{} }

// failed counts a failure. The far side may have asked for a pause.
func (c *circuit) failed(now time.Time, pause time.Duration) {
	if pause > 0 && c.until.Before(now.Add(pause)) {
		c.until = now.Add(pause)
	}

	c.failures++

	// Attempts that ran beside the one that opened it say nothing new.
	if c.failures < failuresToOpen || now.Before(c.until) && c.opened > 0 {
		return
	}
	c.opened++

	if until := now.Add(reopen.Delay(c.opened)); c.until.Before(until) {
		c.until = until
	}
}
