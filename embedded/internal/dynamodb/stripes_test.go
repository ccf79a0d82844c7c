package dynamodb

import (
	"slices"
	"sync"
	"testing"

	"ratchet/embedded/internal/dynamodb/stripes"
)

// TestStripesExclude: two holders of sets of stripes never overlap, whatever
// order they name them in.
func TestStripesExclude(t *testing.T) {
	s := new(stripes.Set)
	held := make([]int, 10)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 200 {
				set := []uint64{uint64(g*i) % 10, uint64(g+i) % 10, uint64(i) % 10}
				unlock := s.Lock(set)
				slices.Sort(set)

				for _, n := range slices.Compact(set) {
					held[n]++ // not atomic: a lost update shows in the sum, a race in the race detector
				}
				unlock()
			}
		})
	}
	wg.Wait()
	s.WaitForWriters()

	if sum := func() (n int) {
		for _, h := range held {
			n += h
		}
		return n
	}(); sum < 16*200 {
		t.Errorf("%d increments", sum)
	}
}
