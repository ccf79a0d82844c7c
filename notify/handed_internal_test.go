package notify

import (
	"fmt"
	"testing"

	"ratchet/transitions"
)

// TestTheMemoryOfWhatWasHandedOverHasABound, and keeps the orders of the newest notifications.
func TestTheMemoryOfWhatWasHandedOverHasABound(t *testing.T) {
	var h handed
	n := func(i int) Notification {
		return Notification{OrderID: transitions.OrderID(fmt.Sprint("o-", i)), TransitionID: 2, Previous: 1}
	}
	next := func(i int) Notification {
		n := n(i)
		n.TransitionID, n.Previous = 3, 2

		return n
	}

	for i := range 3 * maxHanded {
		h.note(n(i), "")
	}

	if size := len(h.newer) + len(h.older); size > 2*maxHanded {
		t.Errorf("%d orders", size)
	}

	for i, want := range map[int]bool{0: false, 2 * maxHanded: true, 3*maxHanded - 1: true} {
		if _, known := h.take(next(i)); known != want {
			t.Errorf("order %d: known %t", i, known)
		}
	}

	if _, known := h.take(next(3*maxHanded - 1)); known {
		t.Error("known, and taken twice")
	}
}
