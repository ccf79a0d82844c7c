package ledger

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"testing"
	"testing/synctest"
)

// A call that gives up while it waits for a lock releases the locks that it has taken.
func TestACallThatGivesUpLeavesNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStripedLock()
		stripe := func(key string) uint64 { return maphash.String(s.seed, key) % stripes }

		// The lock of first comes before the lock of second.
		first, second := "a", "b"
		for i := 0; stripe(first) >= stripe(second); i++ {
			first, second = fmt.Sprint("a", i), fmt.Sprint("b", i)
		}

		unlock, err := s.lock(t.Context(), []string{second})
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())

		var waited error
		go func() { _, waited = s.lock(ctx, []string{second, first}) }()
		synctest.Wait()
		cancel()
		synctest.Wait()

		if !errors.Is(waited, context.Canceled) {
			t.Errorf("%v", waited)
		}
		unlock()

		// If a lock were left, this would not end.
		unlock, err = s.lock(t.Context(), []string{first, second, first})
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	})
}
