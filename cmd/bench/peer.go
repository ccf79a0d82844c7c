package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// peer is a program of cmd/bench/peers that reads a stream.
type peer struct {
	name    string
	command []string
	after   []string // its arguments behind the common ones
	// ownTables says that the lease tables must exist before the worker starts.
	ownTables bool
}

// with returns the peer with other arguments at the end.
func (p peer) with(after ...string) peer {
	p.after = after
	return p
}

// kclPause is the default pause of the adapter after each page, in milliseconds.
const kclPause = "1000"

// buildPeers builds the poller and the worker of the Kinesis Client Library below .cache. It
// needs Java 17, Maven and its repository.
func buildPeers(ctx context.Context) (ours, theirs peer, err error) {
	home, err := filepath.Abs(".cache/kcl")
	if err != nil {
		return ours, theirs, err
	}
	poller := filepath.Join(home, "poller")

	// A missing Java is found before Maven downloads anything.
	for _, command := range [][]string{
		{"java", "-version"},
		{"mvn", "--batch-mode", "--quiet", "--file", "cmd/bench/peers/kcl/pom.xml", "-Dtarget=" + home, "package"},
		{"go", "build", "-C", "cmd/bench/peers/poller", "-o", poller, "."},
	} {
		if err := prepare(command[0]+" prepares the poller and the Kinesis Client Library below .cache", exec.CommandContext(ctx, command[0], command[1:]...)); err != nil {
			return ours, theirs, err
		}
	}

	classes := filepath.Join(home, "kcl-worker.jar") + string(filepath.ListSeparator) + filepath.Join(home, "lib", "*")

	return peer{name: "poller", command: []string{poller}, ownTables: true},
		peer{name: "kcl", command: []string{"java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classes, "ratchet.KclWorker"}, after: []string{kclPause}},
		nil
}

// peerEvent is a line that a peer prints.
type peerEvent struct {
	Event   string  `json:"event"`
	Seconds float64 `json:"seconds"` // since its first record
}

// peerProcess is a running peer.
type peerProcess struct {
	cmd    *exec.Cmd
	log    string
	events chan peerEvent
	ended  chan struct{}
}

// start starts a process. Its log is in .cache/kcl. The caller must kill it.
func (p peer) start(ctx context.Context, args ...string) (*peerProcess, error) {
	all := slices.Concat(p.command, args, p.after)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)

	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	if err := os.MkdirAll(".cache/kcl", 0o750); err != nil {
		return nil, err
	}

	log, err := os.CreateTemp(".cache/kcl", p.name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// The library logs much; a failure names the file.
	cmd.Stderr = log

	if err := cmd.Start(); err != nil {
		return nil, err
	}
	process := &peerProcess{cmd: cmd, log: log.Name(), events: make(chan peerEvent, 16), ended: make(chan struct{})}

	go func() {
		defer close(process.ended)

		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e peerEvent
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				select {
				// The reader of the output must never block, or the process would stop at a full
				// pipe.
				case process.events <- e:
				default: // nothing waits for this event
				}
			}
		}
		_ = cmd.Wait() // "signal: killed"
	}()

	return process, nil
}

// await waits for an event and discards the events before it.
func (p *peerProcess) await(ctx context.Context, name string) (peerEvent, error) {
	for {
		select {
		case e := <-p.events:
			if e.Event == name {
				return e, nil
			}
		case <-p.ended:
			return peerEvent{}, fmt.Errorf("the worker ended before the event %q (see %s)", name, p.log)
		case <-ctx.Done():
			return peerEvent{}, fmt.Errorf("no event %q: %w (see %s)", name, ctx.Err(), p.log)
		}
	}
}

// kill ends the process at once and waits for its end. Killing it twice is fine.
func (p *peerProcess) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}
