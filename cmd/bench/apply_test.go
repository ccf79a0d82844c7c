package main

import (
	"fmt"
	"testing"

	"ratchet/transitions"
)

// BenchmarkTransition is one transition on the embedded engine in process, one caller:
// through Apply, and as the same UpdateItem through the bare SDK client.
func BenchmarkTransition(b *testing.B) {
	e, err := openEngine()
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := e.stop(); err != nil {
			b.Error(err)
		}
	}()

	s, err := openOrders(b.Context(), e)
	if err != nil {
		b.Fatal(err)
	}

	for name, move := range map[string]step{"Apply": s.apply, "SDK": s.bare} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()

			orders := 0
			for b.Loop() {
				n := orders % len(path)
				id := transitions.OrderID(fmt.Sprintf("%s-%d-%d", name, b.N, orders/len(path)))
				if n == 0 {
					b.StopTimer()

					if err := s.place(b.Context(), id); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}

				if err := move(b.Context(), id, transitions.TransitionID(n+2)); err != nil {
					b.Fatal(err)
				}
				orders++
			}
		})
	}
}
