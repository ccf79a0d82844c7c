package poller

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// storeOverflow stores a row of the item "o" with so many of its records, and others beside it. It
// pops the records of the row except the last keep ones.
func (w *testEnv) storeOverflow(beside, keep int) retryqueue.Row {
	w.Helper()

	table, hash, ctx := w.retries(), store.HashOf("o"), w.Context()
	for n := 1; n <= maxRowRecords+beside; n++ {
		r := streams.Record{StreamARN: w.arn, SequenceNumber: strconv.Itoa(n), Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}

		var err error
		if n == 1 {
			_, err = table.Create(ctx, hash, r, retryqueue.Row{NextTry: time.Now()})
		} else {
			_, err = table.Append(ctx, hash, r)
		}

		if err != nil {
			w.Fatal(err)
		}
	}

	row, _, err := table.Get(ctx, "h", hash)
	for err == nil && len(row.Records) > keep {
		row, err = table.Pop(ctx, "h", row)
	}

	if err != nil {
		w.Fatal(err)
	}

	return row
}

// refusedTransactions are in each other's way.
var refusedTransactions = embeddedtest.Fault{On: []string{"TransactWriteItems"}, Err: awsError("TransactionCanceledException")}

// TestTheRowOfAnItemIsNotEmptiedWhileRecordsWaitBesideIt: moving them fails because another write is
// in the way. Without records the row, and with it those beside it, would be forgotten.
func TestTheRowOfAnItemIsNotEmptiedWhileRecordsWaitBesideIt(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		row := w.storeOverflow(2, 1)

		transport, throughTransport := w.intercept()
		transport.Inject(refusedTransactions)

		l := newRecorder()
		cfg := w.config(l.handle, throughTransport).withDefaults()
		_, queues := cfg.newScheduler()
		q := &retryQueue{queues: queues, h: &cfg.Handlers[0], Work: heldForAnHour()}
		item := &queuedItem{queue: q, hash: row.Hash}

		if next, err := item.try(t.Context(), nil); err != nil || next.IsZero() || l.count() != 0 {
			t.Errorf("%v, %v after %d calls", next, err, l.count())
		}

		// As a worker has read the row that has lost the queue: before the others were added beside it.
		row.More = 0

		if left, err := w.retries().Pop(t.Context(), "h", row); err != nil || left.More != 2 {
			t.Errorf("the row was deleted: %+v, %v", left, err)
		}
	})
}

// TestARecordIsAddedBesideTheRowOnce: two workers add it at the same time.
func TestARecordIsAddedBesideTheRowOnce(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		row := w.storeOverflow(1, maxRowRecords)
		record := retryqueue.Waiting{Sequence: strconv.Itoa(maxRowRecords + 2)}

		for _, want := range []bool{true, false} {
			if added, err := w.retries().AppendMore(t.Context(), "h", row, record); err != nil || added != want {
				t.Errorf("added %t, %v, want %t", added, err, want)
			}
		}

		if row, _, err := w.retries().Get(t.Context(), "h", row.Hash); err != nil || row.More != 2 {
			t.Errorf("%d records beside the row, %v", row.More, err)
		}
	})
}

// TestWhichRecordsAreComparedWithAMark: those from before the newest Rebuild's end and shortly after.
func TestWhichRecordsAreComparedWithAMark(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		keys := dynamo.Item{"id": dynamo.S("o")}
		ordered := func(streams.Record) int64 { return 0 }
		cfg := w.config(newRecorder().handle).withDefaults()
		s, _ := cfg.newScheduler()
		lanes := s.newShardLanes(t.Context(), holders.Hold(nil, leases.Lease{}, time.Now(), time.Hour), nil)

		repaired := streams.Record{StreamARN: w.arn, SequenceNumber: "1", Handler: "h", Keys: keys, Replay: &streams.Replayed{Version: 5}}
		hash := store.HashOf(store.ItemKey(repaired))
		if added, err := w.retries().AddMarked(t.Context(), "h", hash, []streams.Record{repaired}, 0, false); err != nil || !added {
			t.Fatal(added, err)
		}
		markedAt := time.Now()

		for _, test := range []struct {
			name    string
			handler streams.Handler
			version int64
			created time.Time
			marked  bool
			want    bool
		}{
			{"before the repair", streams.Handler{Version: ordered}, 5, markedAt.Add(-time.Hour), true, true},
			{"by a clock that is ahead", streams.Handler{Version: ordered}, 5, markedAt.Add(retryqueue.MarkSlack / 2), true, true},
			{"later", streams.Handler{Version: ordered}, 5, markedAt.Add(2 * retryqueue.MarkSlack), true, false},
			{"newer", streams.Handler{Version: ordered}, 6, markedAt.Add(-time.Hour), true, false},
			{"there was no repair", streams.Handler{Version: ordered}, 5, markedAt.Add(-time.Hour), false, false},
			{"no versions", streams.Handler{}, 5, markedAt.Add(-time.Hour), true, false},
			{"no order", streams.Handler{Version: ordered, Unordered: true}, 5, markedAt.Add(-time.Hour), true, false},
		} {
			s.markedAt.Store(0)

			if test.marked {
				s.markedAt.Store(unixMilli(markedAt))
			}
			test.handler.Name = "h"

			if test.handler.Version != nil {
				test.handler.Version = func(streams.Record) int64 { return test.version }
			}

			got, err := s.isRepaired(lanes, &test.handler, streams.Record{Keys: keys, CreatedAt: test.created})
			if err != nil || got != test.want {
				t.Errorf("%s: %t, %v", test.name, got, err)
			}
		}

		lanes.lease.Own.Duration = -time.Second
		s.markedAt.Store(unixMilli(markedAt))

		if _, err := s.isRepaired(lanes, &streams.Handler{Name: "h", Version: ordered}, streams.Record{Keys: keys}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the lease has ended: %v", err)
		}
	})
}
