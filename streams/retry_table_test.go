package streams

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
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

		p := w.start(w.config(func(ctx context.Context, r Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}, throughTransport, patient))
		for v := 1; v <= 4; v++ {
			w.write("o-0", v)
		}
		w.until("all wait", func() bool { rows := w.waitingRows(); return len(rows) == 1 && len(rows[0].records) == 4 })
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
		table, hash := w.retries(), hashLane("o")
		ctx := t.Context()
		record := func(n int) Record {
			return Record{StreamARN: w.arn, SequenceNumber: strconv.Itoa(n), Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
		}
		expect := func(what string, want parking) func(parking, error) {
			return func(got parking, err error) {
				t.Helper()

				if err != nil || got != want {
					t.Errorf("%s: %v, %v, want %v", what, got, err, want)
				}
			}
		}

		expect("append without a row", notWaiting)(table.append(ctx, hash, record(8)))
		expect("create", parked)(table.create(ctx, hash, record(9), retryRow{attempts: 2, nextTry: time.Now()}))
		expect("create again", parked)(table.create(ctx, hash, record(9), retryRow{}))
		expect("create for a later record", isWaiting)(table.create(ctx, hash, record(10), retryRow{}))
		expect("append", parked)(table.append(ctx, hash, record(10)))
		expect("append again", parked)(table.append(ctx, hash, record(10)))
		expect("append an earlier one", parked)(table.append(ctx, hash, record(9)))

		row, ok, err := table.get(ctx, "h", hash)
		if err != nil || !ok || len(row.records) != 2 || row.attempts != 2 {
			t.Fatalf("row %+v, %v", row, err)
		}

		// A worker that read the row before the second record was appended does not delete it.
		stale := row
		stale.records = row.records[:1]

		left, err := table.pop(ctx, "h", stale)
		if err != nil || len(left.records) != 1 || left.records[0].sequence != "10" || left.attempts != 0 {
			t.Fatalf("after the first pop: %+v, %v", left, err)
		}

		if again, err := table.pop(ctx, "h", stale); err != nil || len(again.records) != 1 {
			t.Errorf("popping the same record again: %+v, %v", again, err)
		}

		if err := table.postpone(ctx, "h", stale); err != nil {
			t.Errorf("postponing a record that is gone: %v", err)
		}

		r, err := table.first(ctx, "h", left)
		if err != nil || r.SequenceNumber != "10" {
			t.Errorf("oldest %+v, %v", r, err)
		}

		if left, err = table.pop(ctx, "h", left); err != nil || len(left.records) != 0 {
			t.Errorf("after the last pop: %+v, %v", left, err)
		}
		expect("append after the last pop", notWaiting)(table.append(ctx, hash, record(11)))

		if n := w.scanDeadLetters(); n != 0 {
			t.Errorf("%d rows left", n)
		}
	})
}
