package cli

import (
	"os"
	"testing"

	"ratchet/cmd/cli/internal/exit"
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

	if status := <-exited; status != exit.Aborted {
		t.Errorf("exit status %d, want %d", status, exit.Aborted)
	}
}
