package poller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
)

// mortalWorker is a worker whose process a handler can end: its calls fail from then on.
type mortalWorker struct {
	*runningPoller
	died chan struct{}
}

// die ends the process of the worker, and the call with it.
func (m *mortalWorker) die(ctx context.Context) error {
	close(m.died)
	<-ctx.Done()

	return context.Cause(ctx)
}

// startMortal starts a worker with a handler that may end its process.
func (w *testEnv) startMortal(handle func(context.Context, *mortalWorker, streams.Record) error, edit ...func(*Config)) *mortalWorker {
	m := &mortalWorker{died: make(chan struct{})}
	transport, throughTransport := w.intercept()
	transport.Before(func(*embeddedtest.Call) error {
		select {
		case <-m.died:
			return errors.New("the process has ended")
		default:
			return nil
		}
	})

	call := func(ctx context.Context, r streams.Record) error { return handle(ctx, m, r) }
	m.runningPoller = w.start(w.config(call, append([]func(*Config){defaultTimes, throughTransport}, edit...)...))

	return m
}

// survive starts a worker whenever one has died, until ok or more than most have died. It returns
// how many have.
func survive(t *testing.T, most int, start func() *mortalWorker, ok func() bool) (deaths int) {
	t.Helper()

	began := time.Now()
	for m := start(); !ok(); time.Sleep(time.Second) {
		if time.Since(began) > 15*time.Minute {
			t.Fatalf("not within 15 minutes; %d workers have died", deaths)
		}

		select {
		case <-m.died:
			_ = m.stop()

			if deaths++; deaths > most {
				t.Fatalf("more than %d workers have died", most)
			}
			m = start()
		default:
		}
	}

	return deaths
}

// TestARecordThatEndsTheProcessBecomesADeadLetter: also if its handler fails first, so that it waits
// in the retry queue. All others are handled, and none that ran when the process ended is given up.
func TestARecordThatEndsTheProcessBecomesADeadLetter(t *testing.T) {
	t.Parallel()

	const items, poison = 30, "o-17"

	for _, test := range []struct {
		name   string
		parked bool
	}{
		{"in its shard", false},
		{"in the retry queue", true},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := newTestEnv(t, 2, func(c *embedded.Config) { c.Dir = dir })
			l, beside := newRecorder(), newRecorder()

			handle := func(ctx context.Context, m *mortalWorker, r streams.Record) error {
				id, version := keyAndVersion(r)
				switch {
				case id != poison || version != 1:
					// It may run when the process ends.
					if !worker.Wait(ctx, 2*time.Second) {
						return context.Cause(ctx)
					}

					return l.handle(ctx, r)
				case test.parked && r.Attempt == 1:
					return streams.RetryAfter(errOutage, time.Minute)
				}

				worker.Wait(ctx, time.Second)

				return m.die(ctx)
			}
			start := func() *mortalWorker {
				return w.startMortal(handle, func(c *Config) {
					c.Retry = streams.Retry{Attempts: -1}
					c.Handlers = append(c.Handlers, streams.Handler{Name: "beside", Handle: beside.handle})
				})
			}

			w.writeVersions(items, 2)
			deaths := survive(t, 20, start, func() bool {
				return l.distinct() == 2*items-1 && beside.distinct() == 2*items && len(w.deadLetters("h")) == 1
			})
			t.Logf("%s: %d workers have died", test.name, deaths)

			// The one in between ends during a batch, or while others are tried as well.
			if deaths != leases.SuspectAfter+1+lanes.MaxDeaths {
				t.Errorf("%s: %d workers have died", test.name, deaths)
			}

			letter := w.deadLetters("h")[0]
			if id, version := keyAndVersion(*letter.Record); id != poison || version != 1 || letter.Attempts < lanes.MaxDeaths {
				t.Errorf("%s: dead letter %+v", test.name, letter)
			}

			if letters := w.deadLetters("beside"); len(letters) > 0 {
				t.Errorf("%s: dead letters of another handler: %+v", test.name, letters)
			}
		})
	}
}
