package ledger

import (
	"context"
	"hash/maphash"
	"slices"
)

// stripes is how many locks there are. Accounts with the same hash share one.
const stripes = 1024

// stripedLock serializes the calls of one process that touch the same account. Without it
// they would make each other's conditions fail. It protects no data: other processes have
// locks of their own, and the conditions in DynamoDB decide between all calls.
type stripedLock struct {
	seed  maphash.Seed
	locks [stripes]chan struct{}
}

func newStripedLock() (s stripedLock) {
	s.seed = maphash.MakeSeed()
	for i := range s.locks {
		s.locks[i] = make(chan struct{}, 1)
	}

	return s
}

// lock waits for the locks of all keys and returns the function that unlocks them. It
// fails if ctx ends first.
func (s *stripedLock) lock(ctx context.Context, keys []string) (unlock func(), err error) {
	wanted := make([]int, len(keys))
	for i, key := range keys {
		wanted[i] = int(maphash.String(s.seed, key) % stripes)
	}

	// All calls take their locks in ascending order, so no two wait for each other.
	slices.Sort(wanted)
	// Different keys may share a lock, which can be taken only once.
	wanted = slices.Compact(wanted)

	taken := 0
	unlock = func() {
		for _, i := range wanted[:taken] {
			<-s.locks[i]
		}
	}

	for _, i := range wanted {
		select {
		case s.locks[i] <- struct{}{}:
			taken++
		case <-ctx.Done():
			unlock()

			return nil, context.Cause(ctx)
		}
	}

	return unlock, nil
}
