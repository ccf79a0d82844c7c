package transitions_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// BenchmarkApply moves orders to and fro from many goroutines; every write is synced.
func BenchmarkApply(b *testing.B) {
	s := newShop(b)
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		id := transitions.OrderID(fmt.Sprintf("o-%d", next.Add(1)))
		s.place(b, id)
		n := transitions.PlaceID
		for pb.Next() {
			event := workflow.Hold
			if n%2 == 0 {
				event = workflow.Release
			}
			n++
			if r, err := s.Apply(b.Context(), given(id, event, n)); err != nil || r.Verdict != transitions.Applied {
				b.Fatalf("%s, %v", r.Verdict, err)
			}
		}
	})
}
