package embeddedtest

import (
	"net/http"
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

// Dated is a service whose clock is Now: each of its answers states that time in its header Date.
type Dated struct {
	Doer
	Now func() time.Time
}

// Do sends the request.
func (d Dated) Do(r *http.Request) (*http.Response, error) {
	response, err := d.Doer.Do(r)
	if err == nil {
		response.Header.Set("Date", d.Now().UTC().Format(http.TimeFormat))
	}

	return response, err
}
