package poller

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/lineage"
	"ratchet/streams/retryqueue"
)

// faultLog records the faults of a poller.
type faultLog struct {
	mu     sync.Mutex
	faults []string
}

func (f *faultLog) hook(c *Config) {
	c.Events.Fault = func(op, _ string, err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.faults = append(f.faults, op+": "+err.Error())
	}
}

func (f *faultLog) has(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	return strings.Contains(strings.Join(f.faults, "\n"), text)
}

// TestAThrottledTransactionOfTheRetryQueueIsAFault: when a record with parts is put into the queue, and when
// it is removed. Nothing is lost or left.
func TestAThrottledTransactionOfTheRetryQueueIsAFault(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, f := newRecorder(), &faultLog{}
		var down atomic.Bool
		down.Store(true)

		handle := func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}

		throttled := embeddedtest.Fault{On: []string{"TransactWriteItems"}, Err: embeddedtest.Canceled("None", "ThrottlingError")}.
			If(func(c *embeddedtest.Call) bool { return contains(c, retryPartPrefix) })
		transport, throughTransport := w.intercept()
		adding := transport.Inject(throttled)

		p := w.start(w.config(handle, patient, throughTransport, f.hook))
		w.writeLarge("o-0", 1)
		w.until("it is a fault that a record cannot be added", func() bool { return f.has("PutItem: ") && f.has("ThrottlingError") })
		adding.Remove()
		w.until("it waits", func() bool { return len(w.waitingRows()) == 1 && len(w.parts()) == 2 && w.lagOf(p) == 0 })

		removing := transport.Inject(throttled)
		down.Store(false)
		w.until("it is a fault that it cannot be removed", func() bool { return f.has("RetryQueue: ") })
		removing.Remove()
		w.until("it is handled", func() bool { return l.distinct() == 1 && len(w.waitingRows()) == 0 })
		w.stopped(p)

		if left := w.scanDeadLetters(); left > 0 {
			t.Errorf("%d rows are left", left)
		}
	})
}

// TestALeaseOfARetryQueueThatCannotBeReleasedIsAFault: others wait until it expires.
func TestALeaseOfARetryQueueThatCannotBeReleasedIsAFault(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		f := &faultLog{}
		transport, throughTransport := w.intercept()
		p := w.start(w.config(newRecorder().handle, throughTransport, f.hook))
		w.until("the queue is held", func() bool { return p.queues.Queue("h") != nil })

		transport.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem").
			If(func(c *embeddedtest.Call) bool {
				return contains(c, retryqueue.SourcePrefix+ordersTable) && contains(c, "REMOVE")
			}).Next(1))
		w.stopped(p)

		if !f.has("UpdateItem: streams: write lease h: ") {
			t.Errorf("faults %v", f.faults)
		}
	})
}

// TestATrimmedAnswerIsNoGapWhileTheShardCannotBeLookedUp: DescribeStream may say that nothing is missing.
func TestATrimmedAnswerIsNoGapWhileTheShardCannotBeLookedUp(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g, f := newRecorder(), &gaps{}, &faultLog{}
		transport, throughTransport := w.intercept()
		p := w.start(w.config(l.handle, defaultTimes, throughTransport, g.hook, f.hook))
		w.write("o-0", 1)
		sleepUntil(t, time.Minute, func() bool { return l.count() == 1 })
		time.Sleep(2 * maxListingAge)

		down := transport.Inject(embeddedtest.Answer("AccessDeniedException", "DescribeStream"))
		trimmed := transport.Inject(embeddedtest.Answer("TrimmedDataAccessException", "GetRecords", "GetShardIterator").Next(2 * lineage.ConfirmingAnswers))
		sleepUntil(t, 5*time.Minute, func() bool { return trimmed.Strikes() == 2*lineage.ConfirmingAnswers })
		down.Remove()
		w.write("o-0", 2)
		sleepUntil(t, 5*time.Minute, func() bool { return l.count() == 2 })
		w.stopped(p)

		if len(g.all()) != 0 || !f.has("AccessDenied") {
			t.Errorf("gaps %+v, faults %v", g.all(), f.faults)
		}
	})
}
