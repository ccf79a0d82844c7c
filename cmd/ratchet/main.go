// Command ratchet runs and watches the order state machine that only moves forward.
package main

import (
	"context"
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

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	stop()
	os.Exit(report(err))
}
