package cli

import (
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/views"
	"ratchet/transitions"
)

func TestReplayedEditIsDescribedWithoutItsOrder(t *testing.T) {
	var out strings.Builder
	if err := views.PrintEdit(&out, false, "o-1", transitions.Result{Verdict: transitions.Replayed}); err != nil || out.String() != "Replayed: order o-1\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
