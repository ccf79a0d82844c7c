package poller

import (
	"context"
	"testing"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
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

// TestWhatWaitsForAPlaceIsLate: the age of the oldest record that the handler has no place for, of the handlers that
// are asked for.
func TestWhatWaitsForAPlaceIsLate(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		let := make(chan struct{})
		cfg, slow, fast := w.besideSlow(let, func(c *Config) { c.Concurrency, c.LeaseDuration = 4, time.Hour })
		p := w.start(cfg)

		w.writeVersions(10, 1)
		w.until("the other handler has all", func() bool { return fast.distinct() == 10 })
		time.Sleep(10 * time.Second)

		for handler, want := range map[string]time.Duration{"h": 10 * time.Second, "fast": 0, "none": 0} {
			if got := p.Waits([]streams.Handler{{Name: handler}}); got.Round(2*time.Second) != want {
				t.Errorf("%s: %v, want about %v", handler, got, want)
			}
		}

		close(let)
		w.until("the slow handler has all", func() bool { return slow.distinct() == 10 })

		if got := p.Waits(cfg.Handlers); got != 0 {
			t.Errorf("in the end: %v", got)
		}
		w.stopped(p)
	})
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
