package holders

import (
	"sync/atomic"
	"time"
)

// Term says until when leases are certainly ours: for three quarters of the duration from the begin
// of the last answered sign of life, a heartbeat or a write of the lease itself. Others take a lease
// after the whole duration; the last quarter gives running handlers time to end.
//
// Both clocks must agree. The monotonic clock cannot be set, but it stops while a machine is
// suspended. The wall clock goes on.
type Term struct {
	Duration time.Duration
	began    time.Time    // has a monotonic reading; last counts from it
	last     atomic.Int64 // when the newest answered sign of life began, as a Duration since began; 0: none
	Wall     atomic.Int64 // last by the wall clock, Unix nanoseconds
}

// validFor is how long leases are valid after the begin of a sign of life.
func (t *Term) validFor() time.Duration { return t.Duration * 3 / 4 }

// renewedAt is when the newest answered sign of life began. Other workers cannot have seen it
// earlier, so leases end for them later than for this worker.
func (t *Term) renewedAt() time.Time { return t.began.Add(time.Duration(t.last.Load())) }

// stopBy is when the leases lapse unless another sign of life is answered before; zero if there was
// none yet.
func (t *Term) stopBy() time.Time {
	if t.last.Load() == 0 {
		return time.Time{}
	}

	return t.renewedAt().Add(t.validFor())
}

// valid reports whether the leases are certainly ours at now.
func (t *Term) valid(now time.Time) bool {
	return now.Before(t.stopBy()) && time.Duration(now.UnixNano()-t.Wall.Load()) < t.validFor()
}

// renew notes a sign of life that began at the time and was answered, unless a newer one was answered
// before. Calls go one at a time.
func (t *Term) renew(began time.Time) {
	since := max(began.Sub(t.began), 1)
	if int64(since) <= t.last.Load() {
		return
	}

	t.Wall.Store(began.UnixNano())
	t.last.Store(int64(since))
}
