package poller

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// suspend does to the leases what ten minutes of suspension do: the wall clock has gone on, the
// monotonic clock has not.
func (p *runningPoller) suspend() {
	for _, t := range p.terms() {
		t.Wall.Add(-int64(10 * time.Minute))
	}
}

// terms returns for how long the poller counts its leases as its own.
func (p *runningPoller) terms() []*holders.Term {
	var terms []*holders.Term
	queues := p.queues
	queues.Mu.Lock()
	for _, q := range queues.Held {
		terms = append(terms, &q.Lease.Own)
	}
	queues.Mu.Unlock()

	p.Poller.mu.Lock()
	defer p.Poller.mu.Unlock()

	for _, w := range p.Poller.held {
		terms = append(terms, &w.Lease.Alive.Term)
	}

	return terms
}

// TestASuspendedWorkerDeliversNothingFromTheQueue: the other worker has taken the queue meanwhile.
func TestASuspendedWorkerDeliversNothingFromTheQueue(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		var suspended atomic.Bool
		p := w.start(w.config(func(context.Context, streams.Record) error {
			if suspended.Load() {
				t.Error("a call although the other worker has the queue")
			}

			return errOutage
		}, patient, func(c *Config) { c.LeaseDuration = 10 * time.Second }))
		w.write("o-0", 1)
		w.until("it waits", func() bool { return len(w.waitingRows()) == 1 })

		stored := &leases.Table{API: w.db, Table: leasesTable, Stream: retryqueue.SourcePrefix + ordersTable}

		now, _, err := stored.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		suspended.Store(true)
		p.suspend()

		if _, taken, err := stored.Take(t.Context(), leases.ByShard(now)["h"], "other"); err != nil || !taken {
			t.Fatalf("taken %t: %v", taken, err)
		}
		time.Sleep(20 * time.Second)
		w.stopped(p)
	})
}

// TestRowsOfOtherProcessesMakeNewerRecordsWait: the queue's worker finds such a row when it reads the
// queue.
func TestRowsOfOtherProcessesMakeNewerRecordsWait(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		p := w.start(w.config(alwaysFails, patient))
		w.until("the queue is held", func() bool { return p.queues.Queue("h") != nil })
		time.Sleep(time.Second)
		w.storeVersion(w.retries(), 1)
		w.until("the item waits", func() bool { return p.scheduler.Waiting.Has(lanes.Item{Handler: 0, Hash: store.HashOf("o-0")}) })
		w.stopped(p)
	})
}

// TestAWorkerGoesOnAfterASuspensionThatNobodyNoticed: it takes its own leases again.
func TestAWorkerGoesOnAfterASuspensionThatNobodyNoticed(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var down atomic.Bool
		down.Store(true)
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}, patient))
		w.write("o-0", 1)
		w.until("it waits", func() bool { return len(w.waitingRows()) == 1 })

		p.suspend()
		down.Store(false)
		w.until("it is handled", func() bool { return l.count() == 1 })
		w.stopped(p)
	})
}
