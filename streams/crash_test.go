package streams

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// A worker dies at its n-th call to AWS, for one n after the other: between any
// two of them. Whatever it leaves behind, the next worker loses nothing and
// keeps the order.
func TestDyingAtAnyCallLosesNothing(t *testing.T) {
	const items, versions = 3, 6

	step := 1
	if testing.Short() {
		step = 25
	}

	for n := 1; ; n += step {
		w := newTestEnv(t, 2)
		l := newRecorder()

		for v := 1; v <= versions; v++ {
			for k := range items {
				w.write("o-"+string(rune('0'+k)), v)
			}

			if v%2 == 0 {
				w.roll()
			}
		}
		quick := func(c *Config) { c.LeaseDuration, c.CheckpointEvery = 150*time.Millisecond, 5*time.Millisecond }
		f := w.faults()
		var calls atomic.Int32
		var dead atomic.Bool
		f.set(func(string, []byte) error {
			if int(calls.Add(1)) >= n {
				dead.Store(true)
				return errors.New("the process is dead")
			}

			return nil
		})
		doomed := w.start(w.config(l.handle, f.clients(w), quick))
		w.until("the worker has died or is done", func() bool { return dead.Load() || l.distinct() == items*versions })
		survived := !dead.Load()
		f.set(func(string, []byte) error { return errors.New("the process is dead") })
		heir := w.start(w.config(l.handle, quick))
		w.until("all records have been handled", func() bool { return l.distinct() == items*versions })
		w.stopped(heir)
		_ = doomed.stop()
		l.ordered(t, items, versions)

		if t.Failed() {
			t.Fatalf("died at call %d", n)
		}

		if survived {
			t.Logf("all done before call %d", n)
			return
		}
	}
}
