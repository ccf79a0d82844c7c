package streams

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded"
	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// earlierWorker does what a worker of the earlier version did: it renews its lease by the
// lease's counter, has no row of its own, and takes leases whose counters do not change.
type earlierWorker struct {
	w     *testEnv
	holds string // a shard, "" for none

	mu   sync.Mutex
	free []string // leases of others that it would have taken
	lost bool
}

func (e *earlierWorker) run(ctx context.Context) {
	var observed map[string]*observedLease
	for turn := 0; worker.Wait(ctx, time.Second); turn++ {
		rows, err := queryRows(ctx, e.w.db, leasesTable, e.w.arn)
		if err != nil {
			return
		}

		var leases []Lease
		for _, row := range rows {
			if dynamo.Text(row, leaseShard) != "#stream" {
				leases = append(leases, decodeLease(row))
			}
		}
		observed = observe(observed, leases, time.Now())

		e.mu.Lock()
		for id, l := range observed {
			if l.Owner != "" && id != e.holds && !l.Finished() && time.Since(l.rowSince) >= 10*time.Second {
				e.free = append(e.free, id)
			}
		}
		e.mu.Unlock()

		if e.holds == "" || turn%3 != 0 {
			continue
		}

		renewal := e.w.table().update(e.holds).IfEquals("owner", dynamo.S("earlier")).
			Add("#counter :one").Alias("#counter", "counter").Bind(":one", dynamo.N(1))
		if _, applied, err := applyUpdate(ctx, e.w.db, renewal); err == nil && !applied {
			e.mu.Lock()
			e.lost = true
			e.mu.Unlock()
		}
	}
}

// wronged returns the leases of others that looked free, and whether its own was taken.
func (e *earlierWorker) wronged() ([]string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()

	return slices.Clone(e.free), e.lost
}

// storeAsEarlier stores the state and the leases of all shards as the earlier version did.
// The first one belongs to "earlier"; it returns all.
func (w *testEnv) storeAsEarlier(st *stream) []string {
	w.Helper()

	listed, err := st.list(w.Context())
	if err != nil {
		w.Fatal(err)
	}

	put := func(key string, attributes dynamo.Item) {
		row := leaseKey(w.arn, key)
		maps.Copy(row, attributes)

		if stored, err := w.table().insertRow(w.Context(), row); err != nil || !stored {
			w.Fatal(stored, err)
		}
	}
	put("#stream", dynamo.Item{"counter": dynamo.N(7), "ready": dynamo.Bool(true), "createdAt": dynamo.Millis(listed.createdAt)})
	put("finished", dynamo.Item{"epoch": dynamo.N(1), "counter": dynamo.N(1), "finishedAt": dynamo.Millis(time.Now())})

	shards := slices.Sorted(maps.Keys(listed.shards))
	for i, id := range shards {
		row := dynamo.Item{"epoch": dynamo.N(1700000000), "counter": dynamo.N(5), "atHorizon": dynamo.Bool(true)}
		if i == 0 {
			row["owner"] = dynamo.S("earlier")
		}
		put(id, row)
	}

	return shards
}

func TestWorkersOfAnEarlierVersionKeepTheirLeasesAndTakeNone(t *testing.T) {
	for _, c := range []struct {
		name  string
		holds bool
	}{
		{name: "it holds a lease", holds: true},
		{name: "it only watches"},
	} {
		dir := t.TempDir()
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestEnv(t, 3, func(cfg *embedded.Config) { cfg.Dir = dir })
				p, err := New(w.config(newRecorder().handle, defaultTimes))
				if err != nil {
					t.Fatal(err)
				}

				const grace = 2 * time.Minute
				p.upgradeGrace = grace
				shards := w.storeAsEarlier(p.newCoordinator(w.arn, TrimHorizon).stream)

				earlier := &earlierWorker{w: w}
				if c.holds {
					earlier.holds = shards[0]
				}

				living, die := context.WithCancel(context.Background())
				var running sync.WaitGroup
				running.Go(func() { earlier.run(living) })

				ctx, stop := context.WithCancel(context.Background())
				running.Go(func() {
					if err := p.Run(ctx); err != nil {
						t.Error(err)
					}
				})

				watched := grace - 20*time.Second
				if c.holds {
					watched = 2 * grace
				}
				time.Sleep(watched)

				if free, lost := earlier.wronged(); len(free) > 0 || lost {
					t.Fatalf("to the earlier version %q looked free; its own lease was taken: %v", free, lost)
				}

				if n := w.owners(); n[p.Owner()] != 3 && !c.holds || c.holds && (n[p.Owner()] != 2 || n["earlier"] != 1) {
					t.Fatalf("leases by owner: %v", n)
				}

				rows, err := queryRows(ctx, w.db, leasesTable, w.arn)
				if err != nil || len(rows) != 5 {
					t.Errorf("%d rows under the stream's key, want the 5 that the earlier version knows: %v", len(rows), err)
				}

				die()
				sleepUntil(t, 11*time.Second, func() bool { return w.owners()[p.Owner()] == 3 })

				// The first look after the grace notes in the stream's state that there are none of
				// them; from the one after it, leases are not renewed one by one any more.
				const look = lookEvery * 10 * time.Second
				time.Sleep(grace + 2*look + 10*time.Second)

				before := w.leases()
				time.Sleep(time.Minute)

				if after := w.leases(); !slices.Equal(before, after) {
					t.Errorf("leases are written although nothing happens: %+v, %+v", before, after)
				}

				rows, err = queryRows(ctx, w.db, leasesTable, w.arn)
				if err != nil || len(rows) != 4 {
					t.Errorf("%d rows are watched, want 3 leases and the state: %v", len(rows), err)
				}

				// A worker of the earlier version that comes now never lists: it would take the
				// finished shard for a new one.
				claim := w.table().update("#stream").IfEquals("counter", dynamo.N(0)).SetValue("counter", dynamo.N(1))
				if _, applied, err := applyUpdate(ctx, w.db, claim); err != nil || applied {
					t.Errorf("the earlier version lists: %v, %v", applied, err)
				}
				stop()
				running.Wait()
			})
		})
	}
}
