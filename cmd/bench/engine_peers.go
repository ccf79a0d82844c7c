package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/embedded"
)

const (
	peerClients    = 64
	peerExecutions = 128
)

// executionPeers are the engines of executions that ours is compared with.
var executionPeers = []struct {
	name, about string
	start       func(context.Context) (*executionPeer, error)
}{
	{"restate", "handlers of Restate 1.7.12 with its data on disk", startRestate},
	{"temporal", "workflows of Temporal 1.31.0 in memory", startTemporal},
}

// benchExecutionPeers compares executions of four activities that do nothing with the same
// executions of each peer: the same number with as many clients, in turns. Each peer has workers
// and clients in one process, as the engine has. If a peer cannot be built, its figures are left
// out, and stderr says so.
func benchExecutionPeers(ctx context.Context, work size) (figures []figure, err error) {
	for _, p := range executionPeers {
		peer, err := p.start(ctx)
		if err != nil {
			fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF %s, its program cannot be built or started: %v\n\n", strings.ToUpper(p.name), err)

			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}

		f, err := besidePeer(ctx, work, peer)
		if err := errors.Join(err, peer.stop()); err != nil {
			return nil, fmt.Errorf("executions beside %s: %w", p.name, err)
		}

		f.name = "executions_vs_" + p.name + "_64"
		f.about = fmt.Sprintf("executions of four activities that do nothing, 64 clients, synced to disk / %s (%s)", p.about, f.about)
		figures = append(figures, f)
	}

	return figures, nil
}

// besidePeer returns the ratio to the peer's rate, with both rates as its description.
func besidePeer(ctx context.Context, work size, peer *executionPeer) (figure, error) {
	var f figure

	_, err := onDisk(func(dir string) (_ []figure, err error) {
		engine, err := embedded.Open(embedded.Config{Dir: dir})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, engine.Close()) }()

		noop, err := newNoop(ctx, sfn.NewFromConfig(engine.AWSConfig()))
		if err != nil {
			return nil, err
		}

		// A round is one piece, because the clients are started in it.
		none := func(context.Context, int) error { return nil }

		m, err := turns(ctx, work, 1, 1,
			way{prepare: none, do: func(ctx context.Context, _, _ int) error { return noop.run(ctx, peerClients, peerExecutions) }},
			way{prepare: none, do: func(context.Context, int, int) error { return peer.run(peerClients, peerExecutions) }})
		if err != nil {
			return nil, err
		}

		f.value = ratio(m[0].rates, m[1].rates)
		// A piece is a whole round of executions.
		f.about = fmt.Sprintf("%.0f and %.0f per second", median(m[0].rates)*peerExecutions, median(m[1].rates)*peerExecutions)

		return nil, nil
	})

	return f, err
}

// startTemporal builds the program of cmd/bench/peers/temporal below .cache and starts it.
func startTemporal(ctx context.Context) (*executionPeer, error) {
	program, err := buildTemporal(ctx)
	if err != nil {
		return nil, err
	}

	return startExecutionPeer(exec.CommandContext(ctx, program))
}

// startRestate installs the program of cmd/bench/peers/restate, and the server, below .cache and starts both.
func startRestate(ctx context.Context) (*executionPeer, error) {
	home, err := installRestate(ctx)
	if err != nil {
		return nil, err
	}

	data, err := os.MkdirTemp(home, "data-")
	if err != nil {
		return nil, err
	}

	p, err := startExecutionPeer(exec.CommandContext(ctx, "node", filepath.Join(home, "main.mjs"), data))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	p.data = data

	return p, nil
}

// buildTemporal builds the program of cmd/bench/peers/temporal below .cache, which takes minutes.
func buildTemporal(ctx context.Context) (program string, err error) {
	program, err = filepath.Abs(".cache/temporal-peer")
	if err != nil {
		return "", err
	}

	// A module of its own, because its dependencies are not Ratchet's.
	build := exec.CommandContext(ctx, "go", "build", "-C", "cmd/bench/peers/temporal", "-o", program, ".")
	if err := prepare("go builds the program of Temporal below .cache", build); err != nil {
		return "", err
	}

	return program, nil
}

// installRestate installs the programs of cmd/bench/peers/restate, and the server, below .cache.
func installRestate(ctx context.Context) (home string, err error) {
	const source = "cmd/bench/peers/restate"
	home = ".cache/restate-peer"

	if err := os.MkdirAll(home, 0o750); err != nil {
		return "", err
	}

	for _, name := range []string{"main.mjs", "order.mjs", "server.mjs", "package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", err
		}

		if err := os.WriteFile(filepath.Join(home, name), text, 0o600); err != nil {
			return "", err
		}
	}

	// The lock file decides the versions, and no script of a package runs.
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home)
	if err := prepare("npm installs Restate below .cache", install); err != nil {
		return "", err
	}

	return home, nil
}

// executionPeer is the running program of a peer.
type executionPeer struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	data string // a directory that is removed at the end; "" for none
}

// startExecutionPeer starts a program and waits until it is ready.
func startExecutionPeer(cmd *exec.Cmd) (*executionPeer, error) {
	cmd.Stderr = os.Stderr

	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &executionPeer{cmd: cmd, in: in, out: bufio.NewReader(out)}

	// The program prints it when its server accepts work.
	if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
		return nil, errors.Join(fmt.Errorf("it said %q in place of ready: %w", line, err), p.stop())
	}

	return p, nil
}

// run runs the workflows to their ends.
func (p *executionPeer) run(clients, workflows int) error {
	if _, err := fmt.Fprintln(p.in, clients, workflows); err != nil {
		return err
	}

	line, err := p.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the program ended: %w", err)
	}

	// The line is the time by the peer's clock; its form shows that the run succeeded.
	_, err = strconv.ParseFloat(strings.TrimSpace(line), 64)

	return err
}

// stop ends the program by closing its input, so that it can end its own processes.
func (p *executionPeer) stop() error {
	// A kill would leave the server that the program has started.
	err := errors.Join(p.in.Close(), p.cmd.Wait())

	if p.data != "" {
		err = errors.Join(err, os.RemoveAll(p.data))
	}

	return err
}
