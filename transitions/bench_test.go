package transitions_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// BenchmarkApply holds and releases orders from many goroutines. The engine syncs every
// write. The SDK's client and the engine are included in the allocations.
func BenchmarkApply(b *testing.B) {
	s := newOrders(b)
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		id := transitions.OrderID(fmt.Sprintf("o-%d", next.Add(1)))
		s.place(b, id)

		n := placeID
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
