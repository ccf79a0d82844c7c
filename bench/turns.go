package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// way is one of several ways to do the same work, measured in turns.
type way struct {
	// prepare gets ready for a round, untimed.
	prepare func(ctx context.Context, round int) error
	// do does one piece of a round's work.
	do func(ctx context.Context, round, piece int) error
}

// measure is what the rounds of one way gave, by round.
type measure struct {
	rates  []float64 // pieces per second
	cpu    []float64 // processor time of this whole process per piece, in seconds
	allocs []float64 // memory allocations of this whole process per piece
	bytes  []float64
}

// turns lets every way do the same number of pieces with the same number of callers,
// round after round, as long as the budget lasts; in each round in another order, and each
// starts with a clean heap. The first round warms up and does not count. Figures
// of one round lie close together, so what else the machine does hits all ways alike;
// many short rounds and their median leave out what does not.
func turns(ctx context.Context, work size, callers, pieces int, ways ...way) ([]measure, error) {
	out := make([]measure, len(ways))
	began := time.Now()
	for round := 0; round <= work.rounds || time.Since(began) < work.budget; round++ {
		for _, n := range rand.Perm(len(ways)) {
			if err := ways[n].prepare(ctx, round); err != nil {
				return nil, err
			}
			runtime.GC()
			before := now()

			if err := share(ctx, callers, pieces, func(ctx context.Context, piece int) error { return ways[n].do(ctx, round, piece) }); err != nil {
				return nil, err
			}

			if round > 0 {
				out[n].add(before, now(), float64(pieces))
			}
		}
	}

	return out, nil
}

// moment is what a process has used so far.
type moment struct {
	at     time.Time
	cpu    time.Duration
	memory runtime.MemStats
}

func now() (m moment) {
	runtime.ReadMemStats(&m.memory)
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // documented to fail for wrong arguments only
	m.cpu, m.at = time.Duration(u.Utime.Nano()+u.Stime.Nano()), time.Now()

	return m
}

func (m *measure) add(from, to moment, pieces float64) {
	m.rates = append(m.rates, pieces/to.at.Sub(from.at).Seconds())
	m.cpu = append(m.cpu, (to.cpu-from.cpu).Seconds()/pieces)
	m.allocs = append(m.allocs, float64(to.memory.Mallocs-from.memory.Mallocs)/pieces)
	m.bytes = append(m.bytes, float64(to.memory.TotalAlloc-from.memory.TotalAlloc)/pieces)
}

// share splits the pieces among callers.
func share(ctx context.Context, callers, pieces int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for caller := range callers {
		group.Go(func() error {
			for piece := caller; piece < pieces; piece += callers {
				if err := do(ctx, piece); err != nil {
					return err
				}
			}

			return nil
		})
	}

	return group.Wait()
}

// ratio is the median of a/b over the rounds.
func ratio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}

	return median(ratios)
}
