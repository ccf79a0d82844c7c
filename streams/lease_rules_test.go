package streams

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

// TestAWorkerExpiresByTheBeginOfALook: its row may have changed while the leases were read.
func TestAWorkerExpiresByTheBeginOfALook(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		transport, use := w.intercept()

		p, err := New(w.config(newRecorder().handle, use, func(c *Config) { c.LeaseDuration = 10 * time.Second }))
		if err != nil {
			t.Fatal(err)
		}
		c := p.newCoordinator(w.arn, TrimHorizon)

		if err := c.discovery.bootstrap(t.Context()); err != nil {
			t.Fatal(err)
		}

		if _, taken, err := c.table.take(t.Context(), w.leases()[0], "other"); err != nil || !taken {
			t.Fatalf("taken %t: %v", taken, err)
		}

		if _, _, err := applyUpdate(t.Context(), w.db, c.table.updateWorker("other").SetValue(workerCounter, dynamo.N(1))); err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		var g errgroup.Group
		look := func() (held bool) {
			now := time.Now()
			c.alive.count(now, now)

			if _, err := c.look(ctx, &g, true); err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()

			return len(c.held) > 0
		}

		look()
		time.Sleep(9 * time.Second)
		slow := transport.Inject(embeddedtest.Delay(2*time.Second, "Query"))

		if look() {
			t.Error("the lease was taken although its owner had 1 s left when the look began")
		}
		slow.Remove()
		time.Sleep(time.Second)
		look() // the lease is free from now on
		time.Sleep(3 * c.scanInterval)

		if !look() {
			t.Error("the lease was not taken")
		}
		cancel()
		_ = g.Wait()
	})
}

// TestASuspectQueueIsForgiven: after the time in which each of its records was due, the deaths of
// earlier holders do not count any more, neither here nor in the lease.
func TestASuspectQueueIsForgiven(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		cfg := w.config(newRecorder().handle).withDefaults()
		_, queues := cfg.newScheduler()
		ctx := t.Context()

		if _, err := queues.leases.insert(ctx, Lease{Shard: "h", Epoch: 1}); err != nil {
			t.Fatal(err)
		}

		var lease Lease
		for holder := range suspectAfter + 1 {
			leases, _, err := queues.leases.read(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if lease, _, err = queues.leases.take(ctx, leases[0], strconv.Itoa(holder)); err != nil {
				t.Fatal(err)
			}
		}

		for _, held := range []time.Duration{0, cfg.Handlers[0].Retry.Max + suspectQueueFor + time.Second} {
			q := newRetryQueue(ctx, queues, lease, time.Now().Add(-held))
			q.check(time.Now())

			if forgiven := held > 0; q.suspect.Load() == forgiven || q.toStore().forgetDeaths != forgiven {
				t.Errorf("held for %v: suspect %t", held, q.suspect.Load())
			}

			if err := q.writeProgress(ctx); err != nil {
				t.Fatal(err)
			}

			leases, _, err := queues.leases.read(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if forgiven := held > 0; (leases[0].deaths == 0) != forgiven {
				t.Errorf("held for %v: %d deaths stored", held, leases[0].deaths)
			}
			lease = leases[0]
		}
	})
}

// TestTheAbsenceOfAParentTakesTime: listings that follow each other quickly may all lack it.
func TestTheAbsenceOfAParentTakesTime(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		d := w.newTestDiscovery()
		d.cfg.discoverEvery = 2 * maxConfirmOver
		w.insert(Lease{Shard: "child", Parent: "parent"})

		list := func() {
			if err := d.reconcile(t.Context(), listing{}, w.known()); err != nil {
				t.Fatal(err)
			}
		}

		for range absencesOfYoungParent {
			list()
		}

		if w.lease("child").ParentDone {
			t.Error("the child begins although no time has passed")
		}
		time.Sleep(maxConfirmOver)
		list()

		if !w.lease("child").ParentDone {
			t.Error("the child waits")
		}
	})
}

// TestLargeDeadLettersKeepTheirOrder: List leaves out their records.
func TestLargeDeadLettersKeepTheirOrder(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table := &deadLetterTable{api: w.db, table: deadTable}

		for n := 1; n <= 2; n++ {
			r := w.waitingVersion(n)
			r.New["large"] = dynamo.S(strings.Repeat("x", maxInlineRecord+1))

			if err := table.store(t.Context(), r, errOutage, nil); err != nil {
				t.Fatal(err)
			}
		}

		calls := 0
		h := Handler{Name: "h", Handle: func(context.Context, Record) error { calls++; return errOutage }}
		var last error
		err := DeadLetters{DynamoDB: w.db, Table: deadTable}.RedriveAll(t.Context(), h, DeadLetterFilter{}, func(_ DeadLetter, err error) { last = err })

		if err != nil || calls != 1 || !errors.Is(last, errEarlierFailed) {
			t.Errorf("%d calls, %v, %v", calls, last, err)
		}
	})
}
