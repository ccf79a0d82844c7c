package poller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/holders"
)

// An answer that lacks the newest writes must not decide who holds a lease.
func TestLeasesAreReadConsistently(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		l := newRecorder()
		transport, throughTransport := w.intercept()

		var reads, inconsistent atomic.Int32
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("dynamodb.Query", "dynamodb.GetItem", "dynamodb.Scan") && contains(c, `"`+leasesTable+`"`) {
				reads.Add(1)

				if !contains(c, `"ConsistentRead":true`) || contains(c, "IndexName") {
					inconsistent.Add(1)
				}
			}

			return nil
		})
		p := w.start(w.config(l.handle, throughTransport))
		w.write("o-0", 1)
		w.roll()
		w.write("o-0", 2)
		w.until("all are handled", func() bool { return l.count() == 2 })
		w.stopped(p)

		if reads.Load() == 0 || inconsistent.Load() != 0 {
			t.Errorf("%d of %d reads of the leases are not consistent", inconsistent.Load(), reads.Load())
		}
	})
}

// While workers are replaced one by one, a shard has one reader at a time: the next one
// begins when the one before has ended.
func TestARollingDeploymentHasOneReaderForEachShard(t *testing.T) {
	virtually(t, func(t *testing.T) {
		const shards, workers = 6, 3
		w := newTestEnv(t, shards)
		l := newRecorder()

		var mu sync.Mutex
		last := map[string]int{} // the worker that has read the shard last
		was := map[string]map[int]bool{}

		start := func(n int) *runningPoller {
			return w.start(w.config(l.handle, func(c *Config) {
				c.Events.Page = func(p streams.Page) {
					mu.Lock()
					defer mu.Unlock()

					if was[p.Shard] == nil {
						was[p.Shard] = map[int]bool{}
					}

					if last[p.Shard] != n && was[p.Shard][n] && last[p.Shard] > n {
						t.Errorf("%s is read by worker %d after worker %d", p.Shard, n, last[p.Shard])
					}
					last[p.Shard], was[p.Shard][n] = n, true
				}
			}))
		}

		var old []*runningPoller
		for n := range workers {
			old = append(old, start(n))
		}
		version := 0
		write := func() {
			version++
			w.writeVersion(10, version)
		}
		write()
		w.until("the first records are handled", func() bool { return l.distinct() == 10 })

		// From here on a shard goes from an old worker to a new one, or to another new one.
		var current []*runningPoller
		for n := range workers {
			current = append(current, start(workers+n))
			write()
			w.stopped(old[n])
			write()
		}
		w.until("all are handled", func() bool { return l.distinct() == 10*version })

		for _, p := range current {
			w.stopped(p)
		}
		l.ordered(t, 10, version)

		if l.count() != 10*version {
			t.Errorf("%d calls for %d records", l.count(), 10*version)
		}
	})
}

func TestRowsOfWorkersThatHaveEndedAreDeleted(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		transport, throughTransport := w.intercept()
		stops := w.start(w.config(newRecorder().handle, defaultTimes))
		crashes := w.start(w.config(newRecorder().handle, defaultTimes, throughTransport))
		stays := w.start(w.config(newRecorder().handle, defaultTimes))
		time.Sleep(time.Minute)
		w.stopped(stops)
		transport.Before(func(*embeddedtest.Call) error { return errors.New("the process is dead") })

		sleepUntil(t, 5*time.Minute, func() bool {
			rows, err := w.table().ReadWorkers(t.Context())
			return err == nil && len(rows) == 1 && rows[0].Owner == stays.Owner()
		})
		w.stopped(stays)
		_ = crashes.stop()
	})
}

// TestALeaseWhoseOwnerHasNoRowIsTakenAfterItsDuration: the owner has died, and its row was deleted.
func TestALeaseWhoseOwnerHasNoRowIsTakenAfterItsDuration(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		first := w.start(w.config(newRecorder().handle, defaultTimes))
		sleepUntil(t, time.Minute, func() bool { return w.owners()[first.Owner()] == 2 })
		w.stopped(first)

		for i, l := range w.leases() {
			if _, taken, err := w.table().Take(t.Context(), l, []string{"gone", "stays"}[i]); err != nil || !taken {
				t.Fatal(taken, err)
			}
		}
		table := w.table()
		table.Duration = 10 * time.Second
		stays := holders.NewLiveness(table, "stays", func(err error) { t.Error(err) })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go stays.Run(ctx)

		second := w.start(w.config(newRecorder().handle, defaultTimes))
		sleepUntil(t, 12*time.Second, func() bool { return w.owners()[second.Owner()] == 1 })

		if owners := w.owners(); owners["stays"] != 1 {
			t.Errorf("leases by owner: %v", owners)
		}
		w.stopped(second)
	})
}
