package jsonata

import (
	"runtime"
	"testing"
	"time"
)

// What other code of the process allocates during an evaluation does not count as its memory.
func TestOthersMemoryIsNotAnEvaluations(t *testing.T) {
	b := newBudget(t.Context(), time.Now().Add(time.Minute))
	b.look()

	var kept [][]byte
	for range 6 {
		kept = append(kept, make([]byte, maxHeap/2))
		b.look()
	}

	if b.err != nil {
		t.Error(b.err)
	}

	runtime.KeepAlive(kept)
}
