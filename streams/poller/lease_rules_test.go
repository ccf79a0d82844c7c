package poller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// besideOther returns a coordinator beside a worker that has the lease, and the transport of its requests.
func (w *testEnv) besideOther(t *testing.T) (*embeddedtest.Transport, *coordinator) {
	t.Helper()

	transport, c := w.looking(t)

	if _, taken, err := c.table.Take(t.Context(), w.leases()[0], "other"); err != nil || !taken {
		t.Fatalf("taken %t: %v", taken, err)
	}

	return transport, c
}

// looking returns a coordinator that has not looked yet, and the transport of its requests.
func (w *testEnv) looking(t *testing.T) (*embeddedtest.Transport, *coordinator) {
	t.Helper()

	transport, use := w.intercept()

	p, err := New(w.config(newRecorder().handle, use, func(c *Config) { c.LeaseDuration = 10 * time.Second }))
	if err != nil {
		t.Fatal(err)
	}
	c := p.newCoordinator(w.arn, streams.TrimHorizon)

	if err := c.discovery.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}

	return transport, c
}

// TestAWorkerExpiresByTheBeginOfALook: its row may have changed while the leases were read.
func TestAWorkerExpiresByTheBeginOfALook(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		transport, c := w.besideOther(t)

		if _, _, err := store.Apply(t.Context(), w.db, c.table.Beat("other", "", false)); err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		var g errgroup.Group
		look := func() (held bool) {
			now := time.Now()
			c.alive.Count(now, now)

			if _, err := c.look(ctx, &g, true); err != nil {
				t.Fatal(err)
			}
			c.poller.mu.Lock()
			defer c.poller.mu.Unlock()

			return len(c.poller.held) > 0
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

// TestAWorkerWithoutALeaseHasItsShareFromTheBeginOfALook: one that has come a moment ago shows its next sign of life while
// the leases are read, so the others leave it its share.
func TestAWorkerWithoutALeaseHasItsShareFromTheBeginOfALook(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		transport, c := w.looking(t)

		if _, _, err := store.Apply(t.Context(), w.db, c.table.Beat("other", "", false)); err != nil {
			t.Fatal(err)
		}

		rows, err := c.table.ReadWorkers(t.Context())
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d workers, %v", len(rows), err)
		}
		now := time.Now()
		c.sight.workers.Observe(rows, now.Add(-9*time.Second), c.cfg.LeaseDuration)
		c.alive.Count(now, now)
		transport.Inject(embeddedtest.Delay(2*time.Second, "Query"))

		ctx, cancel := context.WithCancel(t.Context())
		var g errgroup.Group

		if _, err := c.look(ctx, &g, true); err != nil {
			t.Fatal(err)
		}

		if len(c.poller.held) != 1 {
			t.Errorf("%d of 2 leases are taken", len(c.poller.held))
		}
		cancel()
		_ = g.Wait()
	})
}

// TestAChangeCountsFromTheEndOfALook: the row of a worker, and the lease of one whose row was deleted, may have changed while
// they were read, so the worker is alive for a whole lease from then on.
func TestAChangeCountsFromTheEndOfALook(t *testing.T) {
	for about, beats := range map[string]bool{"of a worker": true, "of a lease": false} {
		t.Run(about, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				transport, c := w.besideOther(t)

				if beats {
					if _, _, err := store.Apply(t.Context(), w.db, c.table.Beat("other", "", false)); err != nil {
						t.Fatal(err)
					}
				}

				ctx, cancel := context.WithCancel(t.Context())
				var g errgroup.Group

				// heldAfter looks several times from a moment on.
				began := time.Now()
				heldAfter := func(moment time.Duration) (held bool) {
					time.Sleep(time.Until(began.Add(moment)))

					for range 4 {
						now := time.Now()
						c.alive.Count(now, now)

						if _, err := c.look(ctx, &g, true); err != nil {
							t.Fatal(err)
						}
						time.Sleep(c.scanInterval)
					}
					c.poller.mu.Lock()
					defer c.poller.mu.Unlock()

					return len(c.poller.held) > 0
				}

				// The rows of the workers are read first, and then the leases. The read takes 4 s.
				reads := 0
				slow := transport.Inject(embeddedtest.Delay(4*time.Second, "Query").If(func(*embeddedtest.Call) bool {
					reads++
					return beats && reads == 1 || !beats && reads == 2
				}))
				heldAfter(0)
				slow.Remove()

				if heldAfter(10 * time.Second) {
					t.Error("the lease was taken within 10 s after the end of the first look")
				}

				if !heldAfter(20 * time.Second) {
					t.Error("the lease was not taken")
				}
				cancel()
				_ = g.Wait()
			})
		})
	}
}

// TestTheAbsenceOfAParentTakesTime: listings that follow each other quickly may all lack it.
func TestTheAbsenceOfAParentTakesTime(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		d := w.newTestDiscovery()
		d.Cfg.DiscoverEvery = 2 * maxConfirmOver
		w.insert(leases.Lease{Shard: "child", Parent: "parent"})

		list := func() {
			if err := d.Reconcile(t.Context(), lineage.Listing{}, w.known()); err != nil {
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
		table := &deadletters.Table{API: w.db, Table: deadTable}

		for n := 1; n <= 2; n++ {
			r := w.waitingVersion(n)
			r.New["large"] = dynamo.S(strings.Repeat("x", maxInlineRecord+1))

			if err := table.Store(t.Context(), r, errOutage, nil); err != nil {
				t.Fatal(err)
			}
		}

		calls := 0
		h := streams.Handler{Name: "h", Handle: func(context.Context, streams.Record) error { calls++; return errOutage }}
		var last error
		err := deadletters.Letters{DynamoDB: w.db, Table: deadTable}.RedriveAll(t.Context(), h, deadletters.Filter{}, func(_ deadletters.Letter, err error) { last = err })

		if err != nil || calls != 1 || !errors.Is(last, deadletters.ErrEarlierFailed) {
			t.Errorf("%d calls, %v, %v", calls, last, err)
		}
	})
}
