package notify

import (
	"time"

	"ratchet/internal/worker"
)

// circuit keeps a worker from trying an endpoint that fails every time. After failuresToOpen
// failures in a row it is open: no attempt starts before until. After that, one attempt at a time
// probes the endpoint, and the first success closes the circuit. The worker stores the end of the
// pause in the endpoint's item, so that the other workers stop, too, without failures of their own.
type circuit struct {
	failures int
	opened   int // how often the circuit has opened since the last success
	until    time.Time

	adopted time.Time // the newest openUntil of the endpoint's item that adopt has applied
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

// succeeded closes the circuit. It keeps adopted, so that the same pause in the item is not applied
// again.
func (c *circuit) succeeded() { *c = circuit{adopted: c.adopted} }

// failed counts a failure. pause is the pause that the far side has asked for, 0 for none. failed
// reports whether the other workers should know: the circuit has opened, or the pause is longer
// than refreshEvery, the time in which they read it.
func (c *circuit) failed(now time.Time, pause time.Duration) (news bool) {
	if pause > 0 && c.until.Before(now.Add(pause)) {
		c.until = now.Add(pause)
		news = pause > refreshEvery
	}

	c.failures++

	// A failure before until comes from an attempt that began before the circuit opened.
	if c.failures < failuresToOpen || now.Before(c.until) && c.opened > 0 {
		return news
	}
	c.opened++

	if until := now.Add(reopen.Delay(c.opened)); c.until.Before(until) {
		c.until = until
	}

	return true
}

// adopt applies a pause that another worker has stored, unless it was applied before. The other
// worker's clock may be wrong, so the pause is at most maxPause.
func (c *circuit) adopt(now time.Time, opened int, until time.Time) {
	if !until.After(c.adopted) {
		return
	}
	c.adopted, c.opened = until, max(c.opened, opened)

	// Only the copy is limited: c.adopted keeps the stored time, so that the same pause is not
	// applied again.
	if latest := now.Add(maxPause); latest.Before(until) {
		until = latest
	}

	if c.until.Before(until) {
		c.until = until
	}
}
