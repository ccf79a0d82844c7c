package money

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/once/actions"
)

func TestEveryRefusedOutcomeHasItsOwnExitStatus(t *testing.T) {
	seen := map[int]actions.Outcome{exit.OK: "", exit.Failure: "", exit.Usage: "", exit.Refused: ""}
	for _, o := range []actions.Outcome{actions.NotFound, actions.Canceled, actions.AlreadyUsed, actions.Expired, actions.NotActive,
		actions.Held, actions.HoldLost, actions.Locked, actions.InvalidPIN} {
		var out bytes.Buffer

		err := printOutcome(&out, false, actions.Result{Outcome: o, ExpiresAt: time.Unix(0, 0)}, actions.Consumed)
		var status *exit.Error
		if !errors.As(err, &status) {
			t.Fatalf("%s: %v", o, err)
		}

		if other, taken := seen[status.Status]; taken {
			t.Errorf("%s and %q share the status %d", o, other, status.Status)
		}

		seen[status.Status] = o
		if !strings.HasPrefix(out.String(), string(o)) {
			t.Errorf("%s is printed as %q", o, out.String())
		}
	}

	if err := printOutcome(&bytes.Buffer{}, true, actions.Result{Outcome: actions.Canceled}, actions.Canceled); err != nil {
		t.Errorf("cancel succeeded: %v", err)
	}
}
