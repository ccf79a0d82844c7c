// Package clock is the engine's time: the time of package time, shifted on command, and without the steps that the
// machine's clock makes while the process runs. Inside testing/synctest it follows the bubble's clock.
//
//	now := s.clock.Now()
//	...
//	timer := time.NewTimer(s.clock.Until(due))
//	select {
//	case <-timer.C:
//	case <-s.clock.Shifted(): // other timers may be due now
//	}
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells the time. The zero Clock is not shifted. It is safe for concurrent use.
type Clock struct {
	shift atomic.Int64 // nanoseconds
	steps steps

	mu      sync.Mutex
	shifted chan struct{} // closed by the next Shift; nil if nothing waits for it
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	return c.steps.now().Add(time.Duration(c.shift.Load()))
}

// Until returns the time from now until at. A timer can wait for it unchanged, because timers run
// as fast as the clock.
func (c *Clock) Until(at time.Time) time.Duration { return at.Sub(c.Now()) }

// Shift sets how far the clock is ahead of package time; behind it, if d is negative.
func (c *Clock) Shift(d time.Duration) {
	c.shift.Store(int64(d))
	c.wake()
}

// wake closes the channel of Shifted, so that every waiter wakes.
func (c *Clock) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.shifted != nil {
		close(c.shifted)
		c.shifted = nil
	}
}

// Shifted returns a channel that is closed by the next Shift, and when the clock follows a step. Take it before you
// read the time.
func (c *Clock) Shifted() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.shifted == nil {
		c.shifted = make(chan struct{})
	}

	return c.shifted
}
