package poller

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
)

func TestLostAnswersNeitherLoseNorRepeatRecordsThatWait(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		transport, throughTransport := w.intercept()
		l := newRecorder()
		var down atomic.Bool
		down.Store(true)
		var lost atomic.Int32

		transport.Inject(embeddedtest.LoseAnswer("PutItem", "UpdateItem", "DeleteItem").
			If(func(c *embeddedtest.Call) bool { return contains(c, retryRowPrefix) }).EveryNth(2))
		transport.Before(func(c *embeddedtest.Call) error {
			if contains(c, retryRowPrefix) {
				lost.Add(1)
			}
			return nil
		})

		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}, throughTransport, patient))
		for v := 1; v <= 4; v++ {
			w.write("o-0", v)
		}
		w.until("all wait", func() bool { return len(w.waitingRows()) == 4 })
		down.Store(false)
		w.until("all are handled", func() bool { return l.count() >= 4 })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-0")); got != "[1 2 3 4]" || lost.Load() < 8 {
			t.Errorf("handled %s with %d calls", got, lost.Load())
		}

		if rows := w.scanDeadLetters(); rows != 0 {
			t.Errorf("%d rows left in the dead-letter table", rows)
		}
	})
}
