// Command ratchet runs and watches the order state machine that only moves forward.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Ratchet makes much short-lived garbage over a small heap. Collecting four times
		// less often costs some tens of megabytes and saves about a sixth of the time.
		debug.SetGCPercent(400)
	}

	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	go stopOnSignals(signals, cancel, os.Exit)
	os.Exit(report(newRoot().ExecuteContext(ctx)))
}

// stopOnSignals asks the command to stop at the first signal and ends the process at the
// second. What was in hand then comes back when its leases and heartbeats have run out.
func stopOnSignals(signals <-chan os.Signal, stop func(), exit func(status int)) {
	<-signals
	stop()
	<-signals
	fmt.Fprintln(os.Stderr, "ratchet: ended at once by a second signal")
	exit(exitAborted)
}
