package poller

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/store"
)

// furtherRows is the number of records under further keys of the queues.
func (w *testEnv) furtherRows() (count int) {
	w.Helper()

	for _, row := range w.deadRows() {
		if strings.HasPrefix(dynamo.Text(row, store.Source), retryFurther) && row[deadLetterRecord] != nil {
			count++
		}
	}

	return count
}

// TestRowsUnderFurtherKeysKeepTheirOrder: the worker that has put rows under further keys is suspended, and every third
// answer of its writes is lost. The other worker takes over the shard and the queue, and then the first one wakes up.
func TestRowsUnderFurtherKeysKeepTheirOrder(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var down, suspended atomic.Bool
		down.Store(true)

		handle := func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}
		small := func(c *Config) {
			c.queueShare, c.PollIdle, c.PollActive, c.LeaseDuration, c.discoverEvery = 1, 500*time.Millisecond, 100*time.Millisecond, 5*time.Second, time.Minute
		}

		transport, throughTransport := w.intercept()
		transport.Inject(embeddedtest.LoseAnswer("PutItem").EveryNth(3))
		transport.Before(func(c *embeddedtest.Call) error {
			for suspended.Load() {
				if ctx := c.Request.Context(); !worker.Wait(ctx, 100*time.Millisecond) {
					return ctx.Err()
				}
			}

			return nil
		})

		const items = 6
		former := w.start(w.config(handle, patient, small, throughTransport))
		w.writeVersions(items, 2)
		w.until("all wait, some of them under further keys", func() bool { return len(w.waitingRows()) == 2*items && w.furtherRows() > 0 })

		suspended.Store(true)
		former.suspend()
		w.writeVersion(items, 3)

		next := w.start(w.config(handle, patient, small))
		w.until("the next worker has put the newer ones there", func() bool { return len(w.waitingRows()) == 3*items })
		suspended.Store(false)
		w.writeVersion(items, 4)
		w.until("the newest wait, too", func() bool { return len(w.waitingRows()) == 4*items })

		down.Store(false)
		w.until("all are handled", func() bool { return l.distinct() == 4*items && len(w.waitingRows()) == 0 })
		l.ordered(t, items, 4)

		if n := w.furtherRows(); n != 0 {
			t.Errorf("%d rows are left under further keys", n)
		}
		w.stopped(next)
		w.stopped(former)
	})
}

// TestAnEmptyQueueWithFurtherKeysCostsNoMore: a pass reads one key, and rows of other workers are found.
func TestAnEmptyQueueWithFurtherKeysCostsNoMore(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var down atomic.Bool
		transport, throughTransport := w.intercept()
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}, patient, throughTransport, func(c *Config) {
			c.queueShare, c.PollIdle, c.PollActive, c.LeaseDuration, c.discoverEvery = 1, 5*time.Second, time.Second, 15*time.Second, time.Minute
		}))

		idle := func() int {
			time.Sleep(time.Minute) // the last pass over all keys
			transport.Reset()
			time.Sleep(10 * time.Minute)

			return transport.Count("dynamodb.Query") + transport.Count("dynamodb.GetItem")
		}
		w.write("o-0", 1)
		w.until("it is handled", func() bool { return l.count() == 1 })
		before := idle()

		down.Store(true)
		w.writeVersion(8, 2)
		w.until("all wait, some of them under further keys", func() bool { return len(w.waitingRows()) == 8 && w.furtherRows() > 0 })
		down.Store(false)
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })

		if after := idle(); before == 0 || after > before+2 {
			t.Errorf("%d reads in ten idle minutes, %d before the queue had further keys", after, before)
		}
		w.stopped(p)
	})
}
