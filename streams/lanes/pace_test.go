package lanes

import (
	"context"
	"slices"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/holders"
	"ratchet/streams/leases"
)

// testConfig has handlers that do nothing.
func testConfig(handlers int) *Config {
	handle := func(context.Context, streams.Record) error { return nil }
	all := slices.Repeat([]streams.Handler{{Name: "h", Handle: handle, Concurrency: 64}}, handlers)

	return &Config{
		Handlers:    calls.WithDefaults(all, calls.DefaultRetry, time.Minute),
		Concurrency: 64,
		Log:         embeddedtest.Quiet(),
		Calls:       &Gate{},
	}
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
			cfg := testConfig(len(test.paces))
			cfg.MaxPending, cfg.HoldBack = 100, holdBack
			window := NewWindow(cfg.MaxPending, MaxWindow, &Memory{Limit: 1 << 20})
			scheduler := NewScheduler(cfg)
			lanes := scheduler.NewShard(t.Context(), holders.Hold(nil, leases.Lease{}, time.Now(), time.Hour), window)
			lanes.pace = test.paces

			for range cfg.MaxPending {
				window.add([]*pendingRecord{{unfinished: 1}})
			}

			now := time.Now()
			check := func(after time.Duration) bool {
				now = now.Add(after)
				window.waited.Store(test.waited)
				lanes.CheckPace(now)

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

			if len(lanes.Scheduler.handlers[0].behind) != 1 {
				t.Error("no surplus is looked for")
			}
			lanes.pace[0].pending = cfg.MaxPending / 8

			if !check(holdBack) {
				t.Error("it counts as caught up while the reader waits")
			}
			test.waited = false

			if !check(0) || !check(holdBack-1) || check(1) {
				t.Error("it must have caught up after HoldBack, not before")
			}

			if len(lanes.Scheduler.handlers[0].behind) != 0 {
				t.Error("a surplus is looked for although it has caught up")
			}
		})
	}
}

// TestAShardThatStopsHasNoSurplus: the scheduler looks for a surplus as long as a handler is left
// behind on any shard, which costs a look at all those shards for each step.
func TestAShardThatStopsHasNoSurplus(t *testing.T) {
	scheduler := NewScheduler(testConfig(1))
	lanes := scheduler.NewShard(t.Context(), nil, NewWindow(1, MaxWindow, &Memory{Limit: 1}))

	scheduler.mu.Lock()
	lanes.setBehind(0, true)
	scheduler.mu.Unlock()
	lanes.Stop()
	lanes.CheckPace(time.Now())

	if n := len(scheduler.handlers[0].behind); n != 0 {
		t.Errorf("the handler is left behind on %d shards", n)
	}
}

// TestASurplusIsFoundWithoutALookAtEveryLane: it is looked for at every step, and there may be as many
// lanes as records in memory.
func TestASurplusIsFoundWithoutALookAtEveryLane(t *testing.T) {
	look := func(ready int) time.Duration {
		cfg := testConfig(1)
		cfg.MaxPending, cfg.Concurrency = 10, 0 // no call begins
		scheduler := NewScheduler(cfg)

		newLanes := func() *Shard {
			return scheduler.NewShard(t.Context(), nil, NewWindow(1, MaxWindow, &Memory{Limit: 1}))
		}
		behind, other := newLanes(), newLanes()
		behind.pace[0].pending = cfg.MaxPending
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
