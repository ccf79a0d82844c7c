// Package cli is the command line of Ratchet: cmd/ratchet, and any program that brings its own
// parts along:
//
//	func main() { cli.Main(server.Parts{Bank: bank, Workflow: tickets}) }
//
// Such a program has every command. `dev`, `worker` and `serve` run its parts; the others see the
// same orders as the commands of cmd/ratchet.
//
// The commands are in folders below internal, one for each group of the help: start, orders, operate, money, develop
// and engine. Below them are settings, which all commands share (and where a new command begins), arguments, views,
// terminal and exit. No group imports another.
package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
)

// Main runs the command that the program's arguments name, with the parts, and ends the process.
func Main(parts server.Parts) {
	_, err := execute(parts)
	os.Exit(exit.Report(err))
}

// execute runs the command that the program's arguments name, and returns it with its error.
func execute(parts server.Parts) (*cobra.Command, error) {
	if os.Getenv("GOGC") == "" {
		// Ratchet makes much short-lived garbage over a small heap. A collection a quarter as often
		// costs some tens of megabytes and saves about a sixth of the time.
		debug.SetGCPercent(400)
	}

	ctx, cancel := context.WithCancel(context.Background())
	// Room for two: the second signal must not be lost while the first is handled.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	go stopOnSignals(signals, cancel, os.Exit)

	return newRoot(parts).ExecuteContextC(ctx)
}

// oneRequest is how long further signals are part of the first one: `timeout`, and shells that run scripts, send theirs
// to the process and to its group. It is shorter than two presses of Ctrl-C.
const oneRequest = 150 * time.Millisecond

// stopOnSignals asks the command to stop at the first signal and ends the process at a second
// one. Work that was unfinished then is handed out again when its leases and heartbeats have run
// out.
func stopOnSignals(signals <-chan os.Signal, stop func(), end func(status int)) {
	<-signals
	first := time.Now()
	stop()

	for range signals {
		if time.Since(first) >= oneRequest {
			break
		}
	}
	fmt.Fprintln(os.Stderr, "ratchet: ended at once by a second signal")
	end(exit.Aborted)
}
