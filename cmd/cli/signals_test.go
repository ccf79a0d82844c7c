package cli

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"ratchet/activities"
)

func TestTheFirstSignalStopsAndTheSecondEndsAtOnce(t *testing.T) {
	signals := make(chan os.Signal)
	stopped, exited := make(chan struct{}), make(chan int, 1)

	go stopOnSignals(signals, func() { close(stopped) }, func(status int) { exited <- status })
	signals <- os.Interrupt
	<-stopped

	if len(exited) != 0 {
		t.Error("the first signal ended the process")
	}
	signals <- os.Interrupt

	if status := <-exited; status != exitAborted {
		t.Errorf("exit status %d, want %d", status, exitAborted)
	}
}

func TestTheExitStatusTellsACleanDrainFromAForcedOne(t *testing.T) {
	if status := report(nil); status != exitOK {
		t.Errorf("after a clean drain: %d", status)
	}

	for _, err := range []error{activities.ErrForced, activities.ErrStuck} {
		if status := report(fmt.Errorf("worker: %w", errors.Join(err))); status != exitForced {
			t.Errorf("after %v: %d, want %d", err, status, exitForced)
		}
	}
}
