package once_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// TestEveryKeyHasOneResultDespiteFaults lets machines with different clocks do the same
// work at once, while answers are lost, work fails, and holders outlive their lease.
func TestEveryKeyHasOneResultDespiteFaults(t *testing.T) {
	const workers, calls, keys = 8, 12, 4
	w := newWatchedClaims(t)
	var lost sync.Mutex
	dice := rand.New(rand.NewPCG(1, 2))
	oneIn := func(n int) bool {
		lost.Lock()
		defer lost.Unlock()
		return dice.IntN(n) == 0
	}
	writes := embeddedtest.Writes()
	w.transport.Inject(embeddedtest.LoseRequest(writes...).With(errOutage).If(func(*embeddedtest.Call) bool { return oneIn(20) }))
	w.transport.Inject(embeddedtest.LoseAnswer(writes...).If(func(*embeddedtest.Call) bool { return oneIn(5) }))

	var mu sync.Mutex
	effects := map[string][]int64{} // fences under which the work was done

	results := map[string][]string{} // of all callers
	firsts := map[string]int{}       // callers whose call was not a replay
	var group sync.WaitGroup
	for n := range workers {
		off := time.Duration(n*2000/(workers-1)-1000) * time.Millisecond
		claims := w.machine(t, off, func(c *once.Config) { c.Retention = 10_000 * time.Hour })
		group.Go(func() {
			for range calls {
				key := strconv.Itoa(rand.IntN(keys))
				got, replayed, err := claims.Do(t.Context(), key, payload, func(_ context.Context, c *once.Claim) ([]byte, error) {
					mu.Lock()
					effects[key] = append(effects[key], c.Fence())
					mu.Unlock()

					switch {
					case oneIn(4):
						return nil, errors.New("failed")
					case oneIn(3):
						w.clock.Advance(65 * time.Second) // the work takes longer than its lease
					}

					return fmt.Append(nil, key, "/", c.Fence()), nil
				})
				switch {
				case err == nil:
					mu.Lock()

					results[key] = append(results[key], string(got))
					if !replayed {
						firsts[key]++
					}
					mu.Unlock()
				case errors.Is(err, once.ErrMismatch), errors.Is(err, once.ErrUnknownOutcome), errors.Is(err, once.ErrCorrupt):
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	w.transport.Clear()
	w.clock.Advance(time.Hour)

	for key, all := range results {
		slices.Sort(all)

		if len(slices.Compact(all)) != 1 || firsts[key] > 1 {
			t.Errorf("key %s: results %v, %d callers were the first", key, all, firsts[key])
		}
		slices.Sort(effects[key])

		if len(slices.Compact(slices.Clone(effects[key]))) != len(effects[key]) {
			t.Errorf("key %s: two runs under one fence: %v", key, effects[key])
		}

		if got := take(t, w.Claims, key); string(got.Result) != all[0] {
			t.Errorf("key %s: %q is stored, callers got %q", key, got.Result, all[0])
		}
	}

	if len(results) == 0 {
		t.Error("no call succeeded")
	}
}
