package stripes

import (
	"slices"
	"sync"
	"sync/atomic"
)

// stripeCount is the number of locks that all items share. Two items on one stripe only
// make their writers wait for each other.
const stripeCount = 8192

// Stripe serializes the writers of its items. A writer holds it from the read of the old
// item until the new one is on disk.
type Stripe struct {
	mu sync.Mutex
	// version is odd while a change is visible but not yet on disk.
	version atomic.Uint64
}

// Read returns the value under a key of the stripe, nil if there is none. It waits for a change that is visible
// but not yet on disk, so that a crash cannot undo an answer.
func (s *Stripe) Read(db getter, key []byte) ([]byte, error) {
	// Without a writer there is nothing to wait for: the version is even and the same before
	// and after the read.
	if before := s.version.Load(); before%2 == 0 {
		raw, _, err := db.Get(key)
		if err != nil || s.version.Load() == before {
			return raw, err
		}
	}

	// A writer holds the stripe until its change is on disk.
	s.mu.Lock()
	defer s.mu.Unlock()

	raw, _, err := db.Get(key)

	return raw, err
}

// Lock makes the caller the writer of the stripe.
func (s *Stripe) Lock() { s.mu.Lock() }

// Unlock ends the writer.
func (s *Stripe) Unlock() { s.mu.Unlock() }

// Begin says that a change is visible from now on, but not yet on disk. The caller is the writer.
func (s *Stripe) Begin() { s.version.Add(1) }

// End says that the change is on disk.
func (s *Stripe) End() { s.version.Add(1) }

// getter is the store.
type getter interface {
	Get(key []byte) (value []byte, found bool, err error)
}

// Set has the stripes of all items.
type Set [stripeCount]Stripe

// Of returns the stripe of a hash.
func (s *Set) Of(hash uint64) *Stripe { return &s[hash%stripeCount] }

// numbersOf returns the numbers of the hashes' stripes, ascending, each once.
func numbersOf(hashes []uint64) []uint64 {
	numbers := make([]uint64, len(hashes))
	for i, h := range hashes {
		numbers[i] = h % stripeCount
	}
	slices.Sort(numbers)

	// Each stripe once: its lock cannot be taken twice, and two steps would make its version even.
	return slices.Compact(numbers)
}

// Lock locks the stripes of all hashes and returns the function that unlocks them. It locks each stripe
// once and in ascending order, so that two callers cannot deadlock.
func (s *Set) Lock(hashes []uint64) (unlock func()) {
	numbers := numbersOf(hashes)
	for _, n := range numbers {
		s[n].mu.Lock()
	}

	return func() {
		for _, n := range numbers {
			s[n].mu.Unlock()
		}
	}
}

// Dirty marks the stripes' items as changed but not on disk, until the returned function
// is called. The caller holds the stripes.
func (s *Set) Dirty(hashes []uint64) (clean func()) {
	numbers := numbersOf(hashes)
	for _, n := range numbers {
		s[n].version.Add(1)
	}

	return func() {
		for _, n := range numbers {
			s[n].version.Add(1)
		}
	}
}

// WaitForWriters waits until every writer that was running when it was called has ended. Later writers
// see everything that the caller published before the call.
func (s *Set) WaitForWriters() {
	for i := range s {
		s[i].mu.Lock()
		s[i].mu.Unlock() //nolint:staticcheck // the empty section is the point
	}
}
