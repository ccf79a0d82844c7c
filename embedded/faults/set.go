package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Set holds the faults in effect. The zero Set has none. It is safe for concurrent use.
type Set struct {
	// active are the injections in the order in which they came. A list in it is never changed.
	active atomic.Pointer[[]*Injection]

	mu     sync.Mutex
	counts map[string]int // of calls, by Call.String
}

// Injection is a fault in effect; see [Set.Inject].
type Injection struct {
	set   *Set
	fault Fault

	mu      sync.Mutex
	random  *rand.Rand
	buckets map[string]*bucket // by operation
	matches int
	strikes int
}

// Inject puts a fault into effect, in addition to the faults already in effect.
func (s *Set) Inject(f Fault) *Injection {
	i := &Injection{
		set:     s,
		fault:   f,
		random:  rand.New(rand.NewPCG(f.Seed, 0)), //nolint:gosec // repeatable draws are the point
		buckets: map[string]*bucket{},
	}

	s.change(func(all []*Injection) []*Injection { return append(all, i) })

	return i
}

// Clear ends all faults.
func (s *Set) Clear() { s.change(func([]*Injection) []*Injection { return nil }) }

// Empty reports whether no fault is in effect.
func (s *Set) Empty() bool { return len(s.Injections()) == 0 }

// Injections returns the faults in effect. The caller must not change the list.
func (s *Set) Injections() []*Injection {
	if all := s.active.Load(); all != nil {
		return *all
	}

	return nil
}

// change replaces the list of injections.
func (s *Set) change(edit func([]*Injection) []*Injection) {
	s.mu.Lock()
	defer s.mu.Unlock()

	all := edit(slices.Clone(s.Injections()))
	s.active.Store(&all)
}

// Number sets the call's N.
func (s *Set) Number(c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[c.String()]++
	c.N = s.counts[c.String()]
}

// Before applies the faults to the call, up to the first fault that has an error, and waits for
// their delays. It returns the error of that fault. If afterCommit is true, the call is carried out
// nevertheless.
func (s *Set) Before(ctx context.Context, c *Call) (afterCommit bool, err error) {
	for _, i := range s.Injections() {
		// Faults that select by the answer strike in After.
		if i.fault.Answered != "" || !i.strike(c) {
			continue
		}

		if err := wait(ctx, i.fault.Delay); err != nil {
			return false, err
		}

		if i.fault.Err != nil {
			return i.fault.AfterCommit, i.fault.Err
		}
	}

	return false, nil
}

// SeesAnswers reports whether a fault in effect selects calls by their answers.
func (s *Set) SeesAnswers() bool {
	return slices.ContainsFunc(s.Injections(), func(i *Injection) bool { return i.fault.Answered != "" })
}

// After applies the faults that select calls by their answers to an answer, and returns the error
// of the first fault that strikes.
func (s *Set) After(c *Call, answer []byte) error {
	text := string(answer)
	for _, i := range s.Injections() {
		if want := i.fault.Answered; want != "" && strings.Contains(text, want) && i.strike(c) {
			return i.fault.Err
		}
	}

	return nil
}

// Fault returns the fault as it was given.
func (i *Injection) Fault() Fault { return i.fault }

// Strikes returns how many calls the fault has struck.
func (i *Injection) Strikes() int {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.strikes
}

// Remove ends the fault.
func (i *Injection) Remove() {
	i.set.change(func(all []*Injection) []*Injection {
		return slices.DeleteFunc(all, func(other *Injection) bool { return other == i })
	})
}

// strike reports whether the fault strikes the call, and counts it.
func (i *Injection) strike(c *Call) bool {
	f := i.fault
	if !c.Is(f.On...) || f.Match != nil && !f.Match(c) {
		return false
	}

	// Match is a function of the user, so it runs without the lock.
	i.mu.Lock()
	defer i.mu.Unlock()

	i.matches++

	// The checks are in the order of the fields: a call that one of them lets pass uses no draw
	// and no token of later fields.
	switch n := i.matches - f.Skip; {
	case n <= 0,
		f.Every > 0 && n%f.Every != 0,
		f.Probability > 0 && i.random.Float64() >= f.Probability,
		f.Bucket > 0 && i.bucket(c).take(time.Now()),
		f.Times > 0 && i.strikes >= f.Times:
		return false
	}

	i.strikes++

	return true
}

// bucket returns the bucket of the call's operation. The caller holds i.mu.
func (i *Injection) bucket(c *Call) *bucket {
	b, found := i.buckets[c.String()]
	if !found {
		b = &bucket{size: float64(i.fault.Bucket), refill: i.fault.Refill}
		i.buckets[c.String()] = b
	}

	return b
}

// Check reports what is wrong with the fault.
func (f Fault) Check() error {
	answer, isAnswer := errors.AsType[*Error](f.Err)

	switch {
	case isAnswer && answer.Status != 0 && (answer.Status < 400 || answer.Status > 599):
		return errors.New("faults: the Status of an error must be 400 to 599")
	case f.Probability < 0 || f.Probability > 1:
		return errors.New("faults: Probability must be 0 to 1")
	case f.Skip < 0 || f.Every < 0 || f.Times < 0 || f.Bucket < 0 || f.Refill < 0 || f.Delay < 0:
		return errors.New("faults: Skip, Every, Times, Bucket, Refill and Delay must not be negative")
	case f.Answered != "" && (!f.AfterCommit || f.Err == nil):
		return errors.New("faults: Answered needs AfterCommit and an error")
	case f.Delay == 0 && f.Err == nil:
		return errors.New("faults: a fault needs a Delay or an error")
	}

	return nil
}

// wait waits for d, or until ctx ends if that is sooner, and then returns the error of ctx.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}

	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
