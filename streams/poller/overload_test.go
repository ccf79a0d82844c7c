package poller

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
)

// While every call takes up to half a lease, as under processor overload, leases stay where
// they are: one heartbeat per worker keeps them, and a heartbeat that takes long does not
// hold up the next.
func TestLeasesSettleUnderOverload(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees slow calls of several workers in TestSimulation")
	}

	virtually(t, func(t *testing.T) {
		const shards, lease = 40, time.Second
		w := newTestEnv(t, shards)

		var mu sync.Mutex
		delays := rand.New(rand.NewPCG(1, 2))

		var h holdings
		var fleet []*runningPoller
		l := newRecorder()
		for i := range 3 {
			transport, throughTransport := w.intercept()
			transport.Before(func(c *embeddedtest.Call) error {
				mu.Lock()
				delay := time.Duration(delays.Int64N(int64(lease / 2)))
				mu.Unlock()
				worker.Wait(c.Request.Context(), delay)

				return c.Request.Context().Err()
			})
			fleet = append(fleet, w.start(w.config(l.handle, throughTransport, h.watch(strconv.Itoa(i)), func(c *Config) {
				defaultTimes(c)
				c.LeaseDuration, c.discoverEvery = lease, 5*time.Second
			})))
		}
		time.Sleep(30 * time.Second)

		h.mu.Lock()
		settled, lost := total(h.moves), h.lost
		h.mu.Unlock()

		const items, versions = 20, 10
		for v := 1; v <= versions; v++ {
			w.writeVersion(items, v)

			if v == versions/2 {
				w.roll()
			}
			time.Sleep(5 * time.Second)
		}
		sleepUntil(t, time.Minute, func() bool { return l.distinct() == items*versions })

		h.mu.Lock()
		moved, lostSince := total(h.moves)-settled, h.lost-lost
		h.mu.Unlock()
		t.Logf("%d leases taken in the first 30 s, %d since, for %d new shards; %d and %d lost", settled, moved, shards, lost, lostSince)

		if lostSince > shards/2 || moved > 2*shards {
			t.Errorf("%d leases taken for %d new shards, %d lost", moved, shards, lostSince)
		}

		if n := l.count(); n > items*versions+items {
			t.Errorf("%d calls for %d records", n, items*versions)
		}

		for _, p := range fleet {
			w.stopped(p)
		}
		l.ordered(t, items, versions)
	})
}

func total(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}

	return n
}
