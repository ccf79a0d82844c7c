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

// benchExecutionPeers compares executions of four activities that do nothing with those of Temporal's
// embedded test server, whose data is in SQLite in memory: the same number with as many clients,
// in turns. Each has server, workers and clients in one process. What cannot be built is left
// out, and stderr says so.
func benchExecutionPeers(ctx context.Context, work size) ([]figure, error) {
	return onDisk(func(dir string) (figures []figure, err error) {
		temporal, err := startTemporal(ctx)
		if err != nil {
			fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF TEMPORAL, its program cannot be built or started: %v\n\n", err)
			return nil, ctx.Err()
		}
		defer func() { err = errors.Join(err, temporal.stop()) }()

		engine, err := embedded.Open(embedded.Config{Dir: dir})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, engine.Close()) }()

		noop, err := newNoop(ctx, sfn.NewFromConfig(engine.AWSConfig()))
		if err != nil {
			return nil, err
		}

		// A round is one piece: the clients are started in it.
		none := func(context.Context, int) error { return nil }

		m, err := turns(ctx, work, 1, 1,
			way{prepare: none, do: func(ctx context.Context, _, _ int) error { return noop.run(ctx, peerClients, peerExecutions) }},
			way{prepare: none, do: func(context.Context, int, int) error { return temporal.run(peerClients, peerExecutions) }})
		if err != nil {
			return nil, fmt.Errorf("executions beside Temporal: %w", err)
		}

		return []figure{{
			name:  "executions_vs_temporal_64",
			value: ratio(m[0].rates, m[1].rates),
			about: fmt.Sprintf("executions of four activities that do nothing, 64 clients, synced to disk / workflows of Temporal 1.31.0 in memory (%.0f and %.0f per second)",
				median(m[0].rates)*peerExecutions, median(m[1].rates)*peerExecutions),
		}}, nil
	})
}

// temporalPeer is the running program of bench/peers/temporal.
type temporalPeer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startTemporal builds the program below .cache and starts it.
func startTemporal(ctx context.Context) (*temporalPeer, error) {
	program, err := filepath.Abs(".cache/temporal-peer")
	if err != nil {
		return nil, err
	}

	build := exec.CommandContext(ctx, "go", "build", "-C", "bench/peers/temporal", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}

	p := &temporalPeer{cmd: exec.CommandContext(ctx, program)}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}

	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	if err := p.cmd.Start(); err != nil {
		return nil, err
	}

	p.out = bufio.NewReader(out)
	if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
		return nil, errors.Join(fmt.Errorf("it said %q in place of ready: %w", line, err), p.stop())
	}

	return p, nil
}

// run runs so many workflows to their ends.
func (p *temporalPeer) run(clients, workflows int) error {
	if _, err := fmt.Fprintln(p.in, clients, workflows); err != nil {
		return err
	}

	line, err := p.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the program ended: %w", err)
	}

	_, err = strconv.ParseFloat(strings.TrimSpace(line), 64)

	return err
}

// stop ends the program.
func (p *temporalPeer) stop() error {
	err := errors.Join(p.in.Close(), p.cmd.Process.Kill())
	_ = p.cmd.Wait() // "signal: killed"

	return err
}
