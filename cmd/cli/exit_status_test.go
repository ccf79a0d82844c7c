package cli

import (
	"errors"
	"fmt"
	"testing"

	"ratchet/activities"
	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/operate/executions"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
)

func TestErrorsHaveTheirExitStatus(t *testing.T) {
	for status, errs := range map[int][]error{
		exit.Refused: {inventory.ErrConflict, inventory.ErrOutOfStock, inventory.ErrExpired, actions.ErrConflict, auth.ErrEnded,
			once.ErrMismatch, executions.ErrOtherOrder, deadletters.ErrRedriving},
		exit.NotFound: {exit.ErrNotFound, auth.ErrNoKey, deadletters.ErrNotFound, transitions.ErrUnknownOrder},
		exit.Usage:    {inventory.ErrInvalid, actions.ErrInvalid, transitions.ErrInvalidRequest, once.ErrInvalid, auth.ErrInvalid},
		exit.Failure:  {actions.ErrUnavailable, transitions.ErrUnavailable},
	} {
		for _, err := range errs {
			if got := exit.Report(fmt.Errorf("attempt: %w", err)); got != status {
				t.Errorf("%v: exit status %d, want %d", err, got, status)
			}
		}
	}
}

func TestTheExitStatusTellsACleanDrainFromAForcedOne(t *testing.T) {
	if status := exit.Report(nil); status != exit.OK {
		t.Errorf("after a clean drain: %d", status)
	}

	for _, err := range []error{activities.ErrForced, activities.ErrStuck} {
		if status := exit.Report(fmt.Errorf("worker: %w", errors.Join(err))); status != exit.Forced {
			t.Errorf("after %v: %d, want %d", err, status, exit.Forced)
		}
	}
}
