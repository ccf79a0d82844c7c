package cli

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/cmd/cli/internal/exit"
)

// TestTheFirstSignalStopsAndTheSecondEndsAtOnce: the first signal may come more than once, as from `timeout`.
func TestTheFirstSignalStopsAndTheSecondEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		stopped, exited := 0, -1

		go stopOnSignals(signals, func() { stopped++ }, func(status int) { exited = status })
		signals <- os.Interrupt
		time.Sleep(oneRequest - time.Nanosecond)
		signals <- os.Interrupt
		synctest.Wait()

		if stopped != 1 || exited != -1 {
			t.Errorf("after the first signal: stopped %d times, exit status %d", stopped, exited)
		}

		time.Sleep(time.Nanosecond)
		signals <- os.Interrupt
		synctest.Wait()

		if stopped != 1 || exited != exit.Aborted {
			t.Errorf("after the second one: stopped %d times, exit status %d, want %d", stopped, exited, exit.Aborted)
		}
	})
}
