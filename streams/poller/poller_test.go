package poller

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
	"ratchet/streams"
)

func TestEveryRecordArrivesInOrderAcrossRolloversSplitsAndWorkers(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 3)
		const items, versions = 40, 25
		l := newRecorder()
		var busy sync.Map // the items that are in a handler
		handle := func(ctx context.Context, r streams.Record) error {
			id, v := keyAndVersion(r)
			if _, twice := busy.LoadOrStore(id, true); twice {
				t.Errorf("two handlers for %s at once", id)
			}
			defer busy.Delete(id)

			if rand.N(20) == 0 {
				worker.Wait(ctx, time.Millisecond)
			}

			if v%7 == 3 && r.Attempt == 1 {
				return errors.New("once more")
			}

			return l.handle(ctx, r)
		}

		first := w.start(w.config(handle))
		second := w.start(w.config(handle))
		var writers sync.WaitGroup
		for i := range 4 {
			writers.Go(func() {
				for v := 1; v <= versions; v++ {
					for k := i; k < items; k += 4 {
						w.write("o-"+strconv.Itoa(k), v)
					}
				}
			})
		}

		var third *runningPoller
		for i := range 6 {
			worker.Wait(t.Context(), 20*time.Millisecond)
			w.roll()

			switch i {
			case 1:
				for _, lease := range w.leases() {
					if !lease.Finished() {
						if err := w.engine.SplitShard(context.Background(), w.arn, lease.Shard); err != nil {
							t.Log(err) // rolled over meanwhile
						}
					}
				}
			case 2:
				third = w.start(w.config(handle))
			case 4:
				w.stopped(first)
			}
		}
		writers.Wait()
		w.until("all records have been handled", func() bool { return l.distinct() == items*versions })
		w.stopped(second)
		w.stopped(third)
		l.ordered(t, items, versions)

		if n := l.count(); n != items*versions {
			t.Errorf("%d calls for %d records although no worker crashed", n, items*versions)
		}

		for _, lease := range w.leases() {
			if lease.Owner != "" {
				t.Errorf("%s still belongs to %s", lease.Shard, lease.Owner)
			}
		}
	})
}

func TestACrashedWorkerIsReplacedWithoutLoss(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 4)
		const items, versions = 30, 20
		l := newRecorder()
		transport, throughTransport := w.intercept()
		crashing := w.start(w.config(l.handle, throughTransport))
		w.until("the first worker holds all leases", func() bool {
			n := 0
			for _, lease := range w.leases() {
				if lease.Owner == crashing.Owner() {
					n++
				}
			}

			return n == 4
		})

		w.writeVersions(items, versions/2)
		w.until("some records have been handled", func() bool { return l.count() > items })
		transport.Before(func(c *embeddedtest.Call) error { return errors.New("no network") })
		died := time.Now()

		successor := w.start(w.config(l.handle))
		for v := versions/2 + 1; v <= versions; v++ {
			w.writeVersion(items, v)
		}
		w.until("all records have been handled", func() bool { return l.distinct() == items*versions })

		if took := time.Since(died); took > 3*time.Second {
			t.Errorf("take-over took %v with a lease of 1s", took)
		}
		w.stopped(successor)
		l.ordered(t, items, versions)
		// The crashed worker may write again, and must not change anything.
		transport.Before(nil)
		_ = crashing.stop()

		for _, lease := range w.leases() {
			if lease.Checkpoint == "" {
				t.Errorf("%s lost its checkpoint", lease.Shard)
			}
		}
	})
}

// A worker crashes at its n-th call to AWS, for every n, and another one continues.
// No record may be lost or come out of order.
func TestACrashBetweenAnyTwoCallsLosesNothing(t *testing.T) {
	t.Parallel()

	const parts = 4 // run beside each other

	step := 1
	if testing.Short() {
		step = 25
	}

	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()

			for n := 1 + part*step; ; n += parts * step {
				survived := false
				synctest.Test(t, func(t *testing.T) { survived = crashAt(t, n, newTestEnv(t, 2)) })

				if t.Failed() {
					t.Fatalf("died at call %d", n)
				}

				if survived {
					t.Logf("all done before call %d", n)
					return
				}
			}
		})
	}
}

// crashAt lets a worker die at its n-th call, and another one go on. It reports whether the first
// one was done before.
func crashAt(t *testing.T, n int, w *testEnv) (survived bool) {
	t.Helper()

	const items, versions = 3, 6
	l := newRecorder()

	for v := 1; v <= versions; v++ {
		w.writeVersion(items, v)

		if v%2 == 0 {
			w.roll()
		}
	}
	quick := func(c *Config) { c.LeaseDuration, c.checkpointEvery = 150*time.Millisecond, 5*time.Millisecond }
	transport, throughTransport := w.intercept()
	var calls atomic.Int32
	var dead atomic.Bool
	transport.Before(func(*embeddedtest.Call) error {
		if int(calls.Add(1)) >= n {
			dead.Store(true)
			return errors.New("the process is dead")
		}

		return nil
	})
	crashing := w.start(w.config(l.handle, throughTransport, quick))
	w.until("the worker has died or is done", func() bool { return dead.Load() || l.distinct() == items*versions })
	survived = !dead.Load()
	transport.Before(func(*embeddedtest.Call) error { return errors.New("the process is dead") })
	successor := w.start(w.config(l.handle, quick))
	w.until("all records have been handled", func() bool { return l.distinct() == items*versions })
	w.stopped(successor)
	_ = crashing.stop()
	l.ordered(t, items, versions)

	return survived
}

func TestAChildWaitsUntilTheParentsLastRecordIsHandled(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		release := make(chan struct{})
		l := newRecorder()
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if _, v := keyAndVersion(r); v == 1 {
				select {
				case <-release:
				case <-ctx.Done():
					return ctx.Err()
				}
			}

			return l.handle(ctx, r)
		}))
		w.write("o-0", 1)
		w.roll()
		w.write("other", 2) // in the child
		w.roll()
		w.write("o-0", 2) // in the grandchild
		w.until("the first shard is read to its end", func() bool {
			for _, lag := range p.Lags() {
				if lag.Pending == 1 {
					return true
				}
			}

			return false
		})
		worker.Wait(t.Context(), 100*time.Millisecond)

		if n := l.count(); n != 0 {
			t.Fatalf("%d records handled before the parent's", n)
		}
		close(release)
		w.until("all are handled", func() bool { return l.count() == 3 })
		w.stopped(p)
		l.ordered(t, 1, 2)
	})
}

func TestAHintWakesAnIdleReader(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		transport, throughTransport := w.intercept()
		hint := make(chan struct{}, 1)
		w.write("o-0", 1)
		p := w.start(w.config(l.handle, throughTransport, func(c *Config) {
			c.PollActive, c.PollIdle, c.Hint = time.Hour, time.Hour, hint
		}))
		w.until("the first record is handled", func() bool { return l.count() == 1 })
		w.until("the reader has found the shard empty", func() bool { return transport.Count("GetRecords") == 2 })
		w.write("o-0", 2)
		hint <- struct{}{}
		w.until("the hint has brought the record", func() bool { return l.count() == 2 })
		w.stopped(p)
	})
}

func TestManyShardsAreListedPageByPage(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 230)
		l := newRecorder()

		p := w.start(w.config(l.handle, func(c *Config) { c.LeaseDuration = 5 * time.Second; c.PollIdle = time.Second }))
		w.writeVersion(50, 1)
		w.until("all are handled", func() bool { return l.distinct() == 50 })

		if n := len(w.leases()); n != 230 {
			t.Errorf("%d leases for 230 shards", n)
		}
		w.stopped(p)
	})
}
