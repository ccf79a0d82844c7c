package executions_test

import (
	"errors"
	"sync"
	"testing"

	"ratchet/operate/executions"
	"ratchet/transitions"
)

// TestWorkerPoint31_AnOrderIsPlacedOnceAndItsExecutionStartedOnce: of many callers, one places the
// order and one starts the execution; the others get the same answer. Other content is refused.
func TestWorkerPoint31_AnOrderIsPlacedOnceAndItsExecutionStartedOnce(t *testing.T) {
	e := newOrderExecutions(t)
	order := content("wait-1")

	var mu sync.Mutex
	placed, arns := map[transitions.Verdict]int{}, map[string]int{}

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			r, err := e.orders.Create(t.Context(), order)
			if err != nil {
				t.Error(err)
				return
			}

			arn, err := e.Start(t.Context(), e.machine, order)
			if err != nil {
				t.Error(err)
			}

			mu.Lock()
			defer mu.Unlock()
			placed[r.Verdict]++
			arns[arn]++
		})
	}
	group.Wait()

	if placed[transitions.Applied] != 1 || placed[transitions.Replayed] != 7 || len(arns) != 1 {
		t.Errorf("placed %v, started %v", placed, arns)
	}

	other := order
	other.Customer = "c-2"

	if r, err := e.orders.Create(t.Context(), other); err != nil || r.Verdict != transitions.Conflict {
		t.Errorf("placed with other content: %s, %v", r.Verdict, err)
	}

	if _, err := e.Start(t.Context(), e.machine, other); !errors.Is(err, executions.ErrOtherOrder) {
		t.Errorf("started with other content: %v", err)
	}
}
