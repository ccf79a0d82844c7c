package embeddedtest

import (
	"sync/atomic"
	"time"
)

// Start is the time that a new [Clock] shows.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Clock is a clock that only the test moves; pass its Now as the Now of a
// configuration. It is safe for concurrent use. The zero Clock shows [Start].
//
// Timers do not follow a Clock: code that waits belongs into testing/synctest.
type Clock struct {
	offset atomic.Int64 // since Start, in nanoseconds
}

// Now returns the time that the clock shows, in UTC.
func (c *Clock) Now() time.Time { return Start.Add(time.Duration(c.offset.Load())) }

// Advance moves the clock forward by d, or back if d is negative.
func (c *Clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// Set moves the clock to t.
func (c *Clock) Set(t time.Time) { c.offset.Store(int64(t.Sub(Start))) }
