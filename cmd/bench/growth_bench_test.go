package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// BenchmarkGrowth measures operations on random items in engines with 10 thousand items and with as
// many as BENCH_ITEMS says, by default a million. The engines are below BENCH_GROWTH_DIR if that is
// set, and stay there for the next run.
func BenchmarkGrowth(b *testing.B) {
	large := growthItems
	if text := os.Getenv("BENCH_ITEMS"); text != "" {
		var err error
		if large, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}

	for _, items := range []int{growthSmall, large} {
		b.Run(amount(items), func(b *testing.B) { benchmarkGrown(b, items) })
	}
}

func benchmarkGrown(b *testing.B, items int) {
	dir := os.Getenv("BENCH_GROWTH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}

	g := &grown{dir: filepath.Join(dir, amount(items)), items: items}
	if _, err := os.Stat(g.dir); err != nil {
		if err := g.load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}

	if err := g.open(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := g.engine.Close(); err != nil {
			b.Error(err)
		}
	}()

	for _, operation := range rawOperations {
		b.Run(operation.name, func(b *testing.B) {
			// The cache is filled first.
			if err := share(b.Context(), growthCallers, min(g.items, 200_000), func(ctx context.Context, _ int) error { return g.get(ctx) }); err != nil {
				b.Fatal(err)
			}
			runtime.GC()

			b.ReportAllocs()
			b.ResetTimer()
			before := spent(b)

			err := share(b.Context(), growthCallers, b.N, func(ctx context.Context, _ int) error { return operation.do(g, ctx) })
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(spent(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// spent returns the processor time of this process, in nanoseconds.
func spent(b *testing.B) int64 {
	b.Helper()

	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}

	return u.Utime.Nano() + u.Stime.Nano()
}
