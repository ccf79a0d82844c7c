package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// benchEngineHome is the folder of the engines' data. It is on the disk of the checkout, and not in
// the folder for temporary files, which CI keeps in memory: a sync must have its real cost.
const benchEngineHome = ".cache/bench-engine"

// engineParts compare the embedded engine with other servers, and with itself: loaded and empty,
// with indexes and without.
var engineParts = []benchPart{
	{"engine-update", benchEngineUpdate},
	{"engine-process", benchEngineInProcess},
	{"engine-reads", benchEngineReads},
	{"engine-growth", benchEngineGrowth},
	{"executions", benchExecutions},
	{"engine-hop", benchHop},
	{"engine-open", benchOpenExecutions},
}

// short reports whether the run only shows that the benchmarks work. It then needs neither Java
// nor Rust.
func (s size) short() bool { return s.rounds <= 1 }

// numberFrom returns the number in a variable of the environment, which is at least least, or the fallback without one.
func numberFrom(variable string, fallback, least int) (int, error) {
	text := os.Getenv(variable)
	if text == "" {
		return fallback, nil
	}

	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Errorf("%s=%s: it must be a number of %d or more", variable, text, least)
	}

	return n, nil
}

// onDisk calls part with a new folder on the disk of the checkout, and removes the folder.
func onDisk(part func(dir string) ([]figure, error)) (figures []figure, err error) {
	if err := os.MkdirAll(benchEngineHome, 0o750); err != nil {
		return nil, err
	}

	// A new folder for each part: an engine that has grown would be slower.
	dir, err := os.MkdirTemp(benchEngineHome, "run-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	return part(dir)
}

// rival is a server beside which the engine is measured. Its endpoint's suffix names it in
// figures: engine_update_vs<suffix>.
type rival struct {
	*endpoint
	raw *rawClient
}

func newRival(name, suffix, url string, stop func() error) *rival {
	e := remote(name, url)
	e.suffix, e.stop = suffix, stop

	return &rival{endpoint: e, raw: newRawClient(url)}
}

// rivals are servers in processes of their own, with the engine first.
type rivals []*rival

// openRivals starts the engine, and the servers that open starts. A server that cannot be started
// is left out, and stderr says so.
func openRivals(ctx context.Context, dir string, others ...func(context.Context, string) (*rival, error)) (all rivals, err error) {
	engine, err := openServedEngine(ctx, filepath.Join(dir, "engine"))
	if err != nil {
		return nil, err
	}
	all = rivals{engine}

	for _, open := range others {
		r, err := open(ctx, dir)
		// A rival is optional; only an interrupt ends the run.
		if err != nil {
			if ctx.Err() != nil {
				return nil, errors.Join(err, all.stop())
			}

			fmt.Fprintf(os.Stderr, "\nbench: FIGURES ARE LEFT OUT: %v\n\n", err)

			continue
		}
		all = append(all, r)
	}

	return all, nil
}

func (all rivals) stop() (err error) {
	for _, r := range all {
		err = errors.Join(err, r.endpoint.stop())
	}

	return err
}

// compare lets all rivals do the same pieces of work in turns. It returns the engine's rate, and
// the engine's rate divided by each rival's: engine_<what>_vs<suffix of the rival><end>.
func (all rivals) compare(ctx context.Context, work size, callers, pieces int, what, end, about string, wayOf func(*rival) way) ([]figure, error) {
	ways := make([]way, 0, len(all))
	for _, r := range all {
		ways = append(ways, wayOf(r))
	}

	m, err := turns(ctx, work, callers, pieces, ways...)
	if err != nil {
		return nil, fmt.Errorf("engine, %s: %w", what, err)
	}

	figures := []figure{{
		name: "engine_" + what + "_per_second" + end,
		// The engine is the first rival.
		value: median(m[0].rates),
		unit:  "1/s",
		about: about,
	}}
	for n, r := range all[1:] {
		figures = append(figures, figure{
			name:  "engine_" + what + "_vs" + r.suffix + end,
			value: ratio(m[0].rates, m[n+1].rates),
			about: fmt.Sprintf("the engine / %s (%.0f per second)", r.name, median(m[n+1].rates)),
		})
	}

	return figures, nil
}

// openRivalLocal starts DynamoDB Local with its data in memory.
func openRivalLocal(ctx context.Context, _ string) (*rival, error) {
	// DynamoDB Local has no data on disk: it never syncs, which favors it.
	e, err := openLocal(ctx)
	if err != nil {
		return nil, fmt.Errorf("NO DYNAMODB LOCAL, it cannot be started: %w", err)
	}

	return &rival{endpoint: e, raw: newRawClient(e.url)}, nil
}
