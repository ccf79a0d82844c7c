package poller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/deadletters"
)

func TestARecordThatAlwaysFailsBlocksOnlyItsItemAndBecomesADeadLetter(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var attempts atomic.Int32
		cause := errors.New("cannot be done")

		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if id, v := keyAndVersion(r); id == "o-0" && v == 2 {
				attempts.Add(1)
				return cause
			}

			return l.handle(ctx, r)
		}))
		for v := 1; v <= 3; v++ {
			w.write("o-0", v)
			w.write("o-1", v)
		}
		w.until("the others are handled", func() bool { return l.count() == 5 })
		w.stopped(p)

		if n := attempts.Load(); n != 3 {
			t.Errorf("%d attempts, want 3", n)
		}

		if got := fmt.Sprint(l.of("o-0"), l.of("o-1")); got != "[1 3] [1 2 3]" {
			t.Errorf("handled %s", got)
		}
		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}

		letters, next, err := dead.List(context.Background(), "h", "", 10)
		if err != nil || len(letters) != 1 || next != "" {
			t.Fatalf("letters %v, %q, %v", letters, next, err)
		}

		letter := letters[0]
		if letter.Error != cause.Error() || letter.Attempts != 3 || letter.Permanent {
			t.Errorf("letter %+v", letter)
		}

		if r := letter.Record; dynamo.Number(r.New, "version") != 2 || dynamo.Number(r.Old, "version") != 1 || r.Epoch == 0 {
			t.Errorf("record %+v", r)
		}

		if err := w.redrives(dead, letter, cause); err != nil {
			t.Error(err)
		}
		// The checkpoint is past the dead letter, so nothing is delivered again.
		before := attempts.Load()
		p = w.start(w.config(l.handle))
		w.write("o-9", 1)
		w.until("new records are handled", func() bool { return len(l.of("o-9")) == 1 })
		w.stopped(p)

		if attempts.Load() != before || l.count() != 6 {
			t.Errorf("%d records handled in all, want 6", l.count())
		}
	})
}

func TestPanicGoexitTimeoutAndPermanentErrorsBecomeDeadLetters(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		var calls sync.Map
		p := w.start(w.config(nil, func(c *Config) {
			c.Handlers = []streams.Handler{
				{Name: "panics", Attempts: 2, Handle: func(context.Context, streams.Record) error { panic("boom") }},
				{Name: "exits", Attempts: 2, Handle: func(context.Context, streams.Record) error { runtime.Goexit(); return nil }},
				{Name: "hangs", Attempts: 2, Timeout: 5 * time.Millisecond, Handle: func(ctx context.Context, _ streams.Record) error { <-ctx.Done(); return ctx.Err() }},
				{Name: "refuses", Attempts: 2, Handle: func(context.Context, streams.Record) error { return streams.Permanent(errors.New("never")) }},
				{Name: "filter panics", Filter: func(streams.Record) bool { panic("filter") }, Handle: func(context.Context, streams.Record) error { return nil }},
			}
			c.Events.DeadLetter = func(r streams.Record, attempts int, err error) {
				calls.Store(r.Handler, fmt.Sprint(attempts, " ", err))
			}
		}))
		w.write("o-0", 1)
		n := func() (n int) { calls.Range(func(any, any) bool { n++; return true }); return n }
		w.until("every handler has given up", func() bool { return n() == 5 })
		w.stopped(p)

		for handler, want := range map[string]string{
			"panics": "2 handler panicked: boom", "exits": "2 handler called runtime.Goexit",
			"hangs": "2 streams: handler timed out after 5ms: context deadline exceeded", "refuses": "1 never",
			"filter panics": "0 filter of handler filter panics: handler panicked: filter",
		} {
			if got, _ := calls.Load(handler); got != want {
				t.Errorf("%s: %v, want %s", handler, got, want)
			}
		}

		if c := w.leases()[0].Checkpoint; c == "" {
			t.Error("the checkpoint did not pass the dead letters")
		}
	})
}

func TestAFailingHandlerDelaysTheOthersOnlyAtMaxPending(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var broken atomic.Bool
		broken.Store(true)
		var late atomic.Int32

		p := w.start(w.config(nil, func(c *Config) {
			c.maxPending = 50
			c.parkAfter = time.Hour
			c.Handlers = []streams.Handler{
				{Name: "good", Handle: l.handle},
				{Name: "bad", Attempts: -1, Handle: func(context.Context, streams.Record) error {
					if broken.Load() {
						return errors.New("not now")
					}
					late.Add(1)

					return nil
				}},
			}
		}))
		w.writeVersion(200, 1)
		w.until("the good handler has what fits", func() bool { return l.count() >= 50 })
		worker.Wait(t.Context(), 50*time.Millisecond)

		if n := l.count(); n > 100 {
			t.Errorf("%d records read although the bad handler holds 50", n)
		}

		for _, lease := range w.leases() {
			if lease.Checkpoint != "" {
				t.Errorf("checkpoint %s passed unfinished records", lease.Checkpoint)
			}
		}
		broken.Store(false)
		w.until("both are through", func() bool { return l.count() == 200 && late.Load() == 200 })
		w.stopped(p)
	})
}

func TestUnorderedHandlersOvertakeARecordThatIsRetried(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var open atomic.Bool

		p := w.start(w.config(nil, func(c *Config) {
			c.Handlers = []streams.Handler{{Name: "h", Unordered: true, Attempts: -1, Handle: func(ctx context.Context, r streams.Record) error {
				if _, v := keyAndVersion(r); v == 1 && !open.Load() {
					return errors.New("not yet")
				}
				return l.handle(ctx, r)
			}}}
		}))
		for v := 1; v <= 5; v++ {
			w.write("o-0", v)
		}
		w.until("the later ones are handled", func() bool { return l.count() == 4 })
		open.Store(true)
		w.until("the first is handled, too", func() bool { return l.count() == 5 })
		w.stopped(p)
	})
}

func TestNotYetIsRepeatedWithoutCountingAsAnAttempt(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		busy := errors.New("another worker is doing this")
		var calls, highest atomic.Int32

		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			highest.Store(max(highest.Load(), int32(r.Attempt)))

			if calls.Add(1) <= 10 {
				return streams.NotYet(busy)
			}

			return l.handle(ctx, r)
		}))
		w.write("o-0", 1)
		w.until("the record is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		if highest.Load() != 1 {
			t.Errorf("attempt %d after calls that do not count", highest.Load())
		}

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("dead letters %+v", letters)
		}

		if err := streams.NotYet(busy); !errors.Is(err, busy) || err.Error() != busy.Error() || streams.NotYet(nil) != nil {
			t.Errorf("NotYet hides its error: %v", err)
		}
	})
}

func TestConcurrencyBoundsTheCallsOfAllHandlersAndShards(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 4)
		l := newRecorder()
		var running, highest atomic.Int32

		handle := func(ctx context.Context, r streams.Record) error {
			n := running.Add(1)
			defer running.Add(-1)

			for old := highest.Load(); n > old && !highest.CompareAndSwap(old, n); old = highest.Load() {
			}
			worker.Wait(ctx, time.Millisecond)

			return l.handle(ctx, r)
		}

		p := w.start(w.config(nil, func(c *Config) {
			c.Concurrency = 3
			c.Handlers = []streams.Handler{{Name: "a", Handle: handle}, {Name: "b", Handle: handle}}
		}))
		w.writeVersion(50, 1)
		w.until("all records are handled by both", func() bool { return l.count() == 100 })
		w.stopped(p)

		if n := highest.Load(); n != 3 {
			t.Errorf("up to %d calls at once, want 3", n)
		}
	})
}

func TestASlowHandlerLeavesPlacesForTheOthers(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		const items, places = 100, 8
		var hanging atomic.Int32

		w.writeVersion(items, 1)

		p := w.start(w.config(nil, func(c *Config) {
			c.Concurrency = places
			c.Handlers = []streams.Handler{
				{Name: "hangs", Handle: func(ctx context.Context, _ streams.Record) error {
					hanging.Add(1)
					<-ctx.Done()

					return ctx.Err()
				}},
				{Name: "fast", Handle: l.handle},
			}
			c.DrainTimeout = time.Millisecond
		}))
		w.until("the fast handler has all records", func() bool { return l.count() == items })

		if n := int(hanging.Load()); n != places-places/4 {
			t.Errorf("%d calls hang, want all places but those reserved for the other handler", n)
		}
		w.stopped(p)
	})
}

func TestAHandlersOwnConcurrencyBoundsItsCalls(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		l := newRecorder()
		var running, highest atomic.Int32

		p := w.start(w.config(nil, func(c *Config) {
			c.Handlers = []streams.Handler{{Name: "h", Concurrency: 2, Handle: func(ctx context.Context, r streams.Record) error {
				n := running.Add(1)
				defer running.Add(-1)

				for old := highest.Load(); n > old && !highest.CompareAndSwap(old, n); old = highest.Load() {
				}
				worker.Wait(ctx, time.Millisecond)

				return l.handle(ctx, r)
			}}}
		}))
		w.writeVersion(30, 1)
		w.until("all records are handled", func() bool { return l.count() == 30 })
		w.stopped(p)

		if n := highest.Load(); n != 2 {
			t.Errorf("up to %d calls at once, want 2", n)
		}
	})
}
