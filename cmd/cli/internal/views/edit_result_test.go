package views

import (
	"testing"

	"ratchet/transitions"
)

func TestReplayedEditIsDescribedWithoutItsOrder(t *testing.T) {
	if got := describeEdit("o-1", transitions.Result{Verdict: transitions.Replayed}); got != "Replayed: order o-1" {
		t.Errorf("%q", got)
	}
}
