package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// way is one of several ways to do the same work.
type way struct {
	// prepare prepares a round. Its time does not count.
	prepare func(ctx context.Context, round int) error
	// do does one piece of a round's work.
	do func(ctx context.Context, round, piece int) error
}

// measure holds the figures of one way, by round.
type measure struct {
	rates  []float64 // pieces per second
	cpu    []float64 // processor time of this whole process per piece, in seconds
	allocs []float64 // memory allocations of this whole process per piece
	bytes  []float64
}

// turns lets every way do the same number of pieces with the same number of callers, round
// after round, until the budget and the smallest number of rounds are used up. The first
// round warms up and does not count.
//
// Other processes disturb the figures. The rounds are short and their ways follow each
// other closely, in random order, so most disturbances slow all ways of a round alike; the
// median over the rounds leaves out the other disturbances.
func turns(ctx context.Context, work size, callers, pieces int, ways ...way) ([]measure, error) {
	out := make([]measure, len(ways))
	began := time.Now()
	// The first round and the smallest number of rounds in any case, then until the budget is used
	// up.
	for round := 0; round <= work.rounds || time.Since(began) < work.budget; round++ {
		for _, n := range rand.Perm(len(ways)) {
			if err := ways[n].prepare(ctx, round); err != nil {
				return nil, err
			}

			runtime.GC() // no way pays for the garbage of the one before
			before := now()

			err := share(ctx, callers, pieces, func(ctx context.Context, piece int) error {
				return ways[n].do(ctx, round, piece)
			})
			if err != nil {
				return nil, err
			}

			if round > 0 {
				out[n].add(before, now(), float64(pieces))
			}
		}
	}

	return out, nil
}

// moment is a time, with the resources that this process has used until then.
type moment struct {
	at     time.Time
	cpu    time.Duration
	memory runtime.MemStats
}

func now() (m moment) {
	runtime.ReadMemStats(&m.memory)
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // documented to fail for wrong arguments only
	// Reading the memory takes longest, so it comes before the clock is read.
	m.cpu, m.at = time.Duration(u.Utime.Nano()+u.Stime.Nano()), time.Now()

	return m
}

func (m *measure) add(from, to moment, pieces float64) {
	m.rates = append(m.rates, pieces/to.at.Sub(from.at).Seconds())
	m.cpu = append(m.cpu, (to.cpu-from.cpu).Seconds()/pieces)
	m.allocs = append(m.allocs, float64(to.memory.Mallocs-from.memory.Mallocs)/pieces)
	m.bytes = append(m.bytes, float64(to.memory.TotalAlloc-from.memory.TotalAlloc)/pieces)
}

// share splits the pieces among the callers and does them concurrently. It returns the first
// error.
func share(ctx context.Context, callers, pieces int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for caller := range callers {
		group.Go(func() error {
			// Interleaved, so that every caller has pieces of all parts of a round.
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

// ratio returns the median over the rounds of a/b.
func ratio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		// Round by round: both values had the same disturbances.
		ratios[i] = a[i] / b[i]
	}

	return median(ratios)
}
