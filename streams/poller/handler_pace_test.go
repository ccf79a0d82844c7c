package poller

import (
	"context"
	"slices"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/leases"
)

// besideSlow returns a configuration with a slow handler, "h", beside a fast one. The slow
// one's calls wait until let is closed.
func (w *testEnv) besideSlow(let chan struct{}, edit ...func(*Config)) (cfg Config, slow, fast *recorder) {
	slow, fast = newRecorder(), newRecorder()

	handle := func(ctx context.Context, r streams.Record) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-let:
			return slow.handle(ctx, r)
		}
	}

	cfg = w.config(handle, append(edit, func(c *Config) {
		c.Handlers = append(c.Handlers, streams.Handler{Name: "fast", Handle: fast.handle})
	})...)

	return cfg, slow, fast
}

func TestASlowHandlerIsLeftBehindAndCatchesUp(t *testing.T) {
	virtually(t, func(t *testing.T) {
		items, versions := 100, 4
		if testing.Short() {
			items = 40
		}
		w := newTestEnv(t, 1)
		let := make(chan struct{})

		cfg, slow, fast := w.besideSlow(let, func(c *Config) {
			c.maxPending, c.pageSize, c.Concurrency = 20, 10, 4
			c.holdBack, c.LeaseDuration = 100*time.Millisecond, 10*time.Second
		})
		p := w.start(cfg)

		w.writeVersions(items, versions)
		w.until("the others have passed the slow handler", func() bool { return fast.distinct() == items*versions })

		if slow.count() != 0 || len(w.waitingRows()) < items/2 {
			t.Errorf("the slow handler has handled %d records, and %d items wait", slow.count(), len(w.waitingRows()))
		}

		close(let)
		w.until("the slow handler has caught up", func() bool { return slow.distinct() == items*versions })
		w.until("its queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		slow.ordered(t, items, versions)
		fast.ordered(t, items, versions)

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("%d dead letters", len(letters))
		}
	})
}

// TestWhoIsLeftBehind: a handler is left behind after it has held others back for all of
// HoldBack, and catches up when it has kept up for as long.
func TestWhoIsLeftBehind(t *testing.T) {
	const holdBack = time.Minute
	slow, quick, idle := handlerPace{pending: 90, given: true}, handlerPace{pending: 5, given: true}, handlerPace{}

	for _, test := range []struct {
		name   string
		paces  []handlerPace
		waited bool
		want   bool // whether the first handler is left behind
	}{
		{"one is slow", []handlerPace{slow, quick}, true, true},
		{"nobody waits", []handlerPace{slow, quick}, false, false},
		{"all are slow", []handlerPace{slow, slow}, true, false},
		{"there is no other", []handlerPace{slow}, true, false},
		{"the other one takes no records", []handlerPace{slow, idle}, true, false},
		{"another one is slower", []handlerPace{{pending: 40, given: true}, slow, quick}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			handlers := slices.Repeat([]streams.Handler{{Name: "h", Handle: newRecorder().handle}}, len(test.paces))
			cfg := Config{Handlers: handlers, maxPending: 100, holdBack: holdBack, Log: embeddedtest.Quiet()}.withDefaults()
			window := newPendingWindow(cfg.maxPending, maxWindow, &memoryBudget{limit: 1 << 20})
			scheduler, _ := cfg.newScheduler()
			lanes := scheduler.newShardLanes(t.Context(), holders.Hold(nil, leases.Lease{}, time.Now(), time.Hour), window)
			lanes.pace = test.paces

			for range cfg.maxPending {
				window.add([]*pendingRecord{{unfinished: 1}})
			}

			now := time.Now()
			check := func(after time.Duration) bool {
				now = now.Add(after)
				window.waited.Store(test.waited)
				lanes.checkPace(now)

				return lanes.pace[0].behind
			}

			if check(0) || check(holdBack-1) {
				t.Error("left behind too early")
			}

			// It begins again if the reader did not have to wait meanwhile.
			waited := test.waited
			test.waited = false
			check(0)
			test.waited = waited

			if check(0) || check(holdBack-1) {
				t.Error("left behind although nobody waited in between")
			}

			if got := check(1); got != test.want {
				t.Fatalf("left behind: %t", got)
			}

			if !test.want {
				return
			}

			if len(lanes.scheduler.handlers[0].behind) != 1 {
				t.Error("no surplus is looked for")
			}
			lanes.pace[0].pending = cfg.maxPending / 8

			if !check(holdBack) {
				t.Error("it counts as caught up while the reader waits")
			}
			test.waited = false

			if !check(0) || !check(holdBack-1) || check(1) {
				t.Error("it must have caught up after HoldBack, not before")
			}

			if len(lanes.scheduler.handlers[0].behind) != 0 {
				t.Error("a surplus is looked for although it has caught up")
			}
		})
	}
}

// TestTheEndOfAShardIsNotHeldBack: its children are read when all its records are finished, so all
// that do not run are surplus, however few they are.
func TestTheEndOfAShardIsNotHeldBack(t *testing.T) {
	virtually(t, func(t *testing.T) {
		const items = 30
		w := newTestEnv(t, 1)
		let := make(chan struct{})

		cfg, slow, fast := w.besideSlow(let, func(c *Config) {
			c.maxPending, c.Concurrency, c.holdBack = 10*items, 4, 50*time.Millisecond
			c.LeaseDuration = 5 * time.Second
		})
		p := w.start(cfg)

		w.writeVersion(items, 1)
		w.until("the others have the shard's records", func() bool { return fast.distinct() == items })
		w.roll()
		w.writeVersion(items, 2)
		w.until("what does not run waits in the retry queue", func() bool { return len(w.waitingRows()) >= items-cfg.Concurrency })
		close(let)
		w.until("all is handled", func() bool { return slow.distinct() == 2*items && fast.distinct() == 2*items })
		w.stopped(p)

		slow.ordered(t, items, 2)
		fast.ordered(t, items, 2)
	})
}

// TestAShardThatStopsHasNoSurplus: the scheduler looks for a surplus as long as a handler is left
// behind on any shard, which costs a look at all those shards for each step.
func TestAShardThatStopsHasNoSurplus(t *testing.T) {
	cfg := Config{Handlers: []streams.Handler{{Name: "h", Handle: newRecorder().handle}}, Log: embeddedtest.Quiet()}.withDefaults()
	scheduler, _ := cfg.newScheduler()
	lanes := scheduler.newShardLanes(t.Context(), nil, newPendingWindow(1, maxWindow, &memoryBudget{limit: 1}))

	scheduler.mu.Lock()
	lanes.setBehind(0, true)
	scheduler.mu.Unlock()
	lanes.stop()
	lanes.checkPace(time.Now())

	if n := len(scheduler.handlers[0].behind); n != 0 {
		t.Errorf("the handler is left behind on %d shards", n)
	}
}

// TestOnlyASurplusMoves: what a handler that was left behind can hold in memory stays there.
func TestOnlyASurplusMoves(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		let := make(chan struct{})

		cfg, slow, fast := w.besideSlow(let, func(c *Config) {
			c.maxPending, c.pageSize, c.Concurrency, c.holdBack = 40, 10, 4, 50*time.Millisecond
			c.LeaseDuration = 10 * time.Second
		})
		p := w.start(cfg)
		w.writeVersion(200, 1)
		w.until("the others have passed the slow handler", func() bool { return fast.distinct() == 200 })
		w.until("the rest stays", func() bool { return len(w.waitingRows())+w.lagOf(p) == 200 })

		if left := w.lagOf(p); left < cfg.maxPending/surplusPart {
			t.Errorf("%d records are left in memory", left)
		}
		close(let)
		w.until("all is handled", func() bool { return slow.distinct() == 200 })
		w.stopped(p)
	})
}

// TestAFewItemsWithManyRecordsDoNotHoldTheOthersBack: there is a free place for each call of the
// slow handler, and still its surplus moves after HoldBack. At its own pace the test would take an
// hour of virtual time.
func TestAFewItemsWithManyRecordsDoNotHoldTheOthersBack(t *testing.T) {
	const items, versions, perCall = 2, 180, 20 * time.Second

	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		slow, fast := newRecorder(), newRecorder()

		handle := func(ctx context.Context, r streams.Record) error {
			if !worker.Wait(ctx, perCall) {
				return context.Cause(ctx)
			}

			return slow.handle(ctx, r)
		}

		cfg := w.config(handle, defaultTimes, func(c *Config) {
			c.maxPending, c.pageSize, c.holdBack = 20, 10, 30*time.Second
			c.Handlers = append(c.Handlers, streams.Handler{Name: "fast", Handle: fast.handle})
		})

		w.writeVersions(items, versions)
		p := w.start(cfg)

		// The calls that run when holdBack ends finish first, and so does a call that takes a free place at that
		// moment.
		sleepUntil(t, cfg.holdBack+3*perCall, func() bool { return fast.distinct() == items*versions })

		if n := slow.count(); n > 5*items {
			t.Errorf("the slow handler has handled %d records meanwhile", n)
		}
		w.stopped(p)
		fast.ordered(t, items, versions)
	})
}

// TestASurplusIsFoundWithoutALookAtEveryLane: it is looked for at every step, and there may be as many
// lanes as records in memory.
func TestASurplusIsFoundWithoutALookAtEveryLane(t *testing.T) {
	look := func(ready int) time.Duration {
		cfg := Config{Handlers: []streams.Handler{{Name: "h", Handle: newRecorder().handle}}, maxPending: 10}.withDefaults()
		scheduler, _ := cfg.newScheduler()
		scheduler.limit = 0 // no call begins

		newLanes := func() *shardLanes {
			return scheduler.newShardLanes(t.Context(), nil, newPendingWindow(1, maxWindow, &memoryBudget{limit: 1}))
		}
		behind, other := newLanes(), newLanes()
		behind.pace[0].pending = cfg.maxPending
		behind.setBehind(0, true)

		for range ready {
			scheduler.enqueue(&lane{shard: other, head: &delivery{record: &pendingRecord{}}})
		}

		shortest := time.Hour
		for range 20 {
			began := time.Now()

			for range 50 {
				if scheduler.nextToPark(0) != nil {
					t.Fatal("a lane of another shard was parked")
				}
			}
			shortest = min(shortest, time.Since(began))
		}

		return shortest
	}

	if few, many := look(10), look(20_000); many > 100*max(few, time.Microsecond) {
		t.Errorf("50 looks at 10 ready lanes took %v, at 20,000 %v", few, many)
	}
}

// TestALaneLeavesItsListsFromAnywhere: in whatever order lanes leave, the others keep theirs.
func TestALaneLeavesItsListsFromAnywhere(t *testing.T) {
	for _, leave := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}} {
		lists := []laneList{{kind: ofHandler}, {kind: ofShard}}
		lanes := []*lane{{laneKey: laneKey{key: "a"}}, {laneKey: laneKey{key: "b"}}, {laneKey: laneKey{key: "c"}}}
		want := slices.Clone(lanes)

		for i := range lists {
			for _, l := range lanes {
				lists[i].push(l)
			}
		}

		for _, n := range leave {
			want = slices.DeleteFunc(want, func(l *lane) bool { return l == lanes[n] })

			for i := range lists {
				lists[i].remove(lanes[n])

				var got []*lane
				for l := lists[i].first; l != nil; l = l.neighbors[i].after {
					got = append(got, l)
				}

				last := lists[i].last
				if !slices.Equal(got, want) || (len(want) > 0 && last != want[len(want)-1]) || (len(want) == 0 && last != nil) {
					t.Fatalf("%v leave: list %d has %v", leave, i, got)
				}
			}
		}
		lists[0].push(lanes[0])

		if lists[0].first != lanes[0] || lists[0].last != lanes[0] {
			t.Errorf("%v have left: a lane that comes again is not in the list", leave)
		}
	}
}
