package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// smallStep is the largest step of the machine's clock that the engine's time makes, too: a correction by NTP.
	smallStep = time.Minute
	// followAfter is how long a larger step forward must last before the engine's time makes it.
	followAfter = time.Hour
	// tolerance is how far the two clocks of a process may run apart before steps looks closely.
	tolerance = time.Second
)

// steps compares the two clocks of the process: the wall clock, which a person or NTP may set, and the monotonic one,
// which nothing sets. A step of the wall clock by more than smallStep is held back, so that nothing that waits becomes
// due too early or too late by it.
type steps struct {
	anchor atomic.Pointer[anchor]
	seen   atomic.Int64 // how far the wall clock has run ahead of the monotonic one since the anchor, in nanoseconds
	held   atomic.Int64 // the part of seen that the engine's time does not have

	pretended atomic.Int64 // added to the wall clock by tests

	mu     sync.Mutex // guards the rest, and changes of seen and held
	since  time.Time  // when the step that is held was seen
	asleep time.Duration
}

// anchor is the time at which a clock was read first.
type anchor struct {
	at    time.Time
	awake time.Duration // asleepFor at that time
}

func (s *steps) now() time.Time {
	now := time.Now()
	if ahead := s.ahead(now); (ahead - time.Duration(s.seen.Load())).Abs() > tolerance {
		s.look(now, ahead)
	}

	return now.Add(time.Duration(s.pretended.Load() - s.held.Load()))
}

// ahead returns how far the wall clock has run ahead of the monotonic one since the anchor.
func (s *steps) ahead(now time.Time) time.Duration {
	from := s.anchor.Load()
	if from == nil {
		s.anchor.CompareAndSwap(nil, &anchor{now, asleepFor()})
		from = s.anchor.Load()
	}

	return now.Round(0).Sub(from.at.Round(0)) - now.Sub(from.at) + time.Duration(s.pretended.Load())
}

// look takes note of a difference between the clocks.
func (s *steps) look(now time.Time, ahead time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()

	step := ahead - time.Duration(s.seen.Load())
	s.seen.Store(int64(ahead))

	// The monotonic clock stands while the machine sleeps. That time has passed.
	slept := asleepFor() - s.anchor.Load().awake - s.asleep
	s.asleep += slept

	if step > 0 && step <= slept+smallStep || step.Abs() <= smallStep && s.held.Load() == 0 {
		return
	}

	held := time.Duration(s.held.Load()) + step
	// The clock was set back to about where it was.
	if held.Abs() <= smallStep {
		held = 0
	}

	s.held.Store(int64(held))
	s.since = now
}

// Held returns by how much the machine's clock has been set forward, or back if it is negative, without the engine's
// time, and since when. It is zero if the engine's time is the machine's.
func (c *Clock) Held() (step time.Duration, since time.Time) {
	c.steps.now()
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()

	return time.Duration(c.steps.held.Load()), c.steps.since
}

// Follow makes a step forward that has lasted for an hour. It reports whether it has.
func (c *Clock) Follow() bool {
	s := &c.steps
	now := s.now()

	s.mu.Lock()

	follows := s.held.Load() > 0 && now.Sub(s.since) >= followAfter
	if follows {
		s.held.Store(0)
	}
	s.mu.Unlock()

	if follows {
		c.wake()
	}

	return follows
}

// SetWall pretends that the machine's clock is set forward by d; back, if it is negative. For tests.
func (c *Clock) SetWall(d time.Duration) {
	c.steps.now()
	c.steps.pretended.Add(int64(d))
}
