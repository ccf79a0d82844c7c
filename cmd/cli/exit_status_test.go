package cli

import (
	"fmt"
	"testing"

	"ratchet/api/auth"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/operate/executions"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
)

func TestErrorsHaveTheirExitStatus(t *testing.T) {
	for status, errs := range map[int][]error{
		exitRefused: {inventory.ErrConflict, inventory.ErrOutOfStock, inventory.ErrExpired, actions.ErrConflict, auth.ErrEnded,
			once.ErrMismatch, executions.ErrOtherOrder, deadletters.ErrRedriving},
		exitNotFound: {errNotFound, auth.ErrNoKey, deadletters.ErrNotFound, transitions.ErrUnknownOrder},
		exitUsage:    {inventory.ErrInvalid, actions.ErrInvalid, transitions.ErrInvalidRequest, once.ErrInvalid, auth.ErrInvalid},
		exitFailure:  {actions.ErrUnavailable, transitions.ErrUnavailable},
	} {
		for _, err := range errs {
			if got := report(fmt.Errorf("attempt: %w", err)); got != status {
				t.Errorf("%v: exit status %d, want %d", err, got, status)
			}
		}
	}
}
