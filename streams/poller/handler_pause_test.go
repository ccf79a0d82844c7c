package poller

import (
	"fmt"
	"testing"
	"time"

	"ratchet/streams"
)

// TestAPausedHandlerGetsItsRecordsLater: two workers, of which one starts during the pause, and
// shards that end meanwhile.
func TestAPausedHandlerGetsItsRecordsLater(t *testing.T) {
	virtually(t, func(t *testing.T) {
		const items, versions = 10, 6
		w := newTestEnv(t, 2)
		paused, other := newRecorder(), newRecorder()

		cfg := w.config(paused.handle, func(c *Config) {
			c.LeaseDuration = 2 * time.Second
			c.Handlers = append(c.Handlers, streams.Handler{Name: "other", Handle: other.handle})
		})

		// Before the first worker, so that not one record may reach the handler.
		if err := w.queue().Pause(t.Context(), "h"); err != nil {
			t.Fatal(err)
		}
		before := w.pausedAt()

		if err := w.queue().Pause(t.Context(), "h"); err != nil || !w.pausedAt().Equal(before) {
			t.Errorf("the second pause: %v, since %v, not %v", err, w.pausedAt(), before)
		}

		write := func(from, to int) {
			for v := from; v <= to; v++ {
				w.writeVersion(items, v)
			}
		}

		first := w.start(cfg)
		write(1, 2)
		w.until("the other handler has all", func() bool { return other.distinct() == items*2 })
		second := w.start(cfg)
		w.roll()
		write(3, 4)
		w.until("the other handler has all", func() bool { return other.distinct() == items*4 })
		w.stopped(first)
		write(5, 5)
		w.until("the other handler has all", func() bool { return other.distinct() == items*5 })
		w.until("the records wait", func() bool { return w.lagOf(second) == 0 })

		if n := paused.count(); n != 0 {
			t.Fatalf("%d calls during the pause", n)
		}

		if err := w.queue().Resume(t.Context(), "h"); err != nil {
			t.Fatal(err)
		}
		write(6, versions)
		w.until("all is handled", func() bool { return paused.distinct() == items*versions })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(second)

		paused.ordered(t, items, versions)
		other.ordered(t, items, versions)

		if err := w.queue().Resume(t.Context(), "h"); err != nil || !w.pausedAt().IsZero() {
			t.Errorf("resumed twice: %v, %v", err, w.pausedAt())
		}
	})
}

// pausedAt returns since when the status says that handler h is paused.
func (w *testEnv) pausedAt() time.Time {
	w.Helper()

	s := w.status(w.inspector())
	at := s.Handlers[0].PausedAt
	says := hasProblem(s, "handler h is paused since ")
	if says == at.IsZero() {
		w.Errorf("paused at %v, problems %s", at, fmt.Sprint(s.Problems))
	}

	return at
}

// TestAPauseStopsARunningHandler: the calls end within the bound that Pause promises.
func TestAPauseStopsARunningHandler(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		p := w.start(w.config(l.handle, func(c *Config) { c.LeaseDuration = 2 * time.Second }))
		w.write("o-1", 1)
		w.until("it is handled", func() bool { return l.count() == 1 })

		if err := w.queue().Pause(t.Context(), "h"); err != nil {
			t.Fatal(err)
		}
		version := 0
		w.until("a record waits", func() bool {
			version++
			w.write("o-2", version)

			return len(w.waitingRows()) > 0
		})

		before := l.count()

		for v := range 10 {
			w.write("o-3", v+1)
		}
		w.until("the records wait", func() bool { return w.lagOf(p) == 0 })

		if n := l.count() - before; n != 0 {
			t.Errorf("%d calls during the pause", n)
		}

		if err := w.queue().Resume(t.Context(), "h"); err != nil {
			t.Fatal(err)
		}
		w.until("all is handled", func() bool { return len(l.of("o-3")) >= 10 && len(w.waitingRows()) == 0 })
		w.stopped(p)
	})
}
