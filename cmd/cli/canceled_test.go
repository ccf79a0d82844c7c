package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"ratchet/cmd/cli/internal/exit"
)

// TestAFailureBesideAnInterruptionIsShown: closing the data failed, while an interruption ended the work.
func TestAFailureBesideAnInterruptionIsShown(t *testing.T) {
	canceled := fmt.Errorf("start: %w", context.Canceled)

	for _, row := range []struct {
		err  error
		only bool
	}{
		{nil, false},
		{canceled, true},
		{errors.Join(canceled, nil), true},
		{fmt.Errorf("dev: %w", errors.Join(canceled, canceled)), true},
		{fmt.Errorf("%w: %w", errors.New("not available"), canceled), true},
		{errors.Join(canceled, io.ErrShortWrite), false},
		{fmt.Errorf("dev: %w", errors.Join(io.ErrShortWrite, canceled)), false},
	} {
		if exit.OnlyCanceled(row.err) != row.only {
			t.Errorf("%v: %t", row.err, !row.only)
		}
	}
}
