package dynamodb

import (
	"slices"
	"sync"
	"sync/atomic"
)

// stripeCount is the number of locks that all items share. Two items on one
// stripe only wait for each other; nothing depends on them being apart.
const stripeCount = 8192

// stripe serialises the writers of its items. The writer holds it from reading
// the old item until the new one is on disk.
type stripe struct {
	mu sync.Mutex
	// version is odd while a change is visible but not yet on disk.
	version atomic.Uint64
}

type stripes [stripeCount]stripe

func (s *stripes) of(hash uint64) *stripe { return &s[hash%stripeCount] }

// lock locks the stripes of all hashes, each once, in one order for every
// caller, and returns what unlocks them.
func (s *stripes) lock(hashes []uint64) (unlock func()) {
	numbers := make([]uint64, len(hashes))
	for i, h := range hashes {
		numbers[i] = h % stripeCount
	}
	slices.Sort(numbers)

	numbers = slices.Compact(numbers)
	for _, n := range numbers {
		s[n].mu.Lock()
	}

	return func() {
		for _, n := range numbers {
			s[n].mu.Unlock()
		}
	}
}

// dirty marks the stripes' items as changed but not on disk, until the returned
// function is called. The caller holds the stripes.
func (s *stripes) dirty(hashes []uint64) (clean func()) {
	numbers := make([]uint64, len(hashes))
	for i, h := range hashes {
		numbers[i] = h % stripeCount
	}
	slices.Sort(numbers)

	numbers = slices.Compact(numbers)
	for _, n := range numbers {
		s[n].version.Add(1)
	}

	return func() {
		for _, n := range numbers {
			s[n].version.Add(1)
		}
	}
}

// pass waits until every writer that was at work when it was called has ended:
// who starts afterwards sees what the caller published before.
func (s *stripes) pass() {
	for i := range s {
		s[i].mu.Lock()
		s[i].mu.Unlock() //nolint:staticcheck // the empty section is the point
	}
}
