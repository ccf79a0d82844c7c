package notify

import (
	"time"

	"ratchet/internal/worker"
)

// circuit keeps a worker from trying an endpoint that fails every time. After failuresToOpen
// failures in a row it is open: no attempt starts until a time. Then one attempt at a time
// probes the endpoint, and the first success closes the circuit. The endpoint's item tells the other
// workers that a circuit has opened, so that they need not find out by failures of their own.
type circuit struct {
	failures int
	opened   int // how often, since the last success
	until    time.Time

	adopted time.Time // the newest end in the endpoint's item that this worker goes by
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

// succeeded closes the circuit. A pause that was adopted from the item before is not adopted again.
func (c *circuit) succeeded() { *c = circuit{adopted: c.adopted} }

// failed counts a failure. The far side may have asked for a pause. It reports whether the other
// workers should know: the circuit has opened, or the pause is longer than they need to read of it.
func (c *circuit) failed(now time.Time, pause time.Duration) (news bool) {
	if pause > 0 && c.until.Before(now.Add(pause)) {
		c.until = now.Add(pause)
		news = pause > refreshEvery
	}

	c.failures++

	// Attempts that ran when the circuit opened say nothing new.
	if c.failures < failuresToOpen || now.Before(c.until) && c.opened > 0 {
		return news
	}
	c.opened++

	if until := now.Add(reopen.Delay(c.opened)); c.until.Before(until) {
		c.until = until
	}

	return true
}

// adopt opens the circuit as another worker has, unless that opening was adopted before. The other
// worker's clock may be wrong: no pause is longer than maxPause.
func (c *circuit) adopt(now time.Time, opened int, until time.Time) {
	if !until.After(c.adopted) {
		return
	}
	c.adopted, c.opened = until, max(c.opened, opened)

	// c.adopted keeps the time as it was read, so that the same one is not adopted again and again.
	if latest := now.Add(maxPause); latest.Before(until) {
		until = latest
	}

	if c.until.Before(until) {
		c.until = until
	}
}
