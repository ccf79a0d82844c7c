package poller

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
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
		w.until("all wait", func() bool { rows := w.waitingRows(); return len(rows) == 1 && len(rows[0].Records) == 4 })
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

func TestTheRetryTableDecidesWhoDelivers(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table, hash := w.retries(), store.HashOf("o")
		ctx := t.Context()
		record := func(n int) streams.Record {
			return streams.Record{StreamARN: w.arn, SequenceNumber: strconv.Itoa(n), Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
		}
		expect := func(what string, want retryqueue.Parking) func(retryqueue.Parking, error) {
			return func(got retryqueue.Parking, err error) {
				t.Helper()

				if err != nil || got != want {
					t.Errorf("%s: %v, %v, want %v", what, got, err, want)
				}
			}
		}

		expect("append without a row", retryqueue.NotWaiting)(table.Append(ctx, hash, record(8)))
		expect("create", retryqueue.Parked)(table.Create(ctx, hash, record(9), retryqueue.Row{Attempts: 2, NextTry: time.Now()}))
		expect("create again", retryqueue.Parked)(table.Create(ctx, hash, record(9), retryqueue.Row{}))
		expect("create for a later record", retryqueue.IsWaiting)(table.Create(ctx, hash, record(10), retryqueue.Row{}))
		expect("append", retryqueue.Parked)(table.Append(ctx, hash, record(10)))
		expect("append again", retryqueue.Parked)(table.Append(ctx, hash, record(10)))
		expect("append an earlier one", retryqueue.Parked)(table.Append(ctx, hash, record(9)))

		row, ok, err := table.Get(ctx, "h", hash)
		if err != nil || !ok || len(row.Records) != 2 || row.Attempts != 2 {
			t.Fatalf("row %+v, %v", row, err)
		}

		// A worker that read the row before the second record was appended does not delete it.
		stale := row
		stale.Records = row.Records[:1]

		left, err := table.Pop(ctx, "h", stale)
		if err != nil || len(left.Records) != 1 || left.Records[0].Sequence != "10" || left.Attempts != 0 {
			t.Fatalf("after the first pop: %+v, %v", left, err)
		}

		if again, err := table.Pop(ctx, "h", stale); err != nil || len(again.Records) != 1 {
			t.Errorf("popping the same record again: %+v, %v", again, err)
		}

		if err := table.Postpone(ctx, "h", stale); err != nil {
			t.Errorf("postponing a record that is gone: %v", err)
		}

		r, err := table.First(ctx, "h", left)
		if err != nil || r.SequenceNumber != "10" {
			t.Errorf("oldest %+v, %v", r, err)
		}

		if left, err = table.Pop(ctx, "h", left); err != nil || len(left.Records) != 0 {
			t.Errorf("after the last pop: %+v, %v", left, err)
		}
		expect("append after the last pop", retryqueue.NotWaiting)(table.Append(ctx, hash, record(11)))

		if n := w.scanDeadLetters(); n != 0 {
			t.Errorf("%d rows left", n)
		}
	})
}
