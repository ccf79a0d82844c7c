package poller

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// TestAnyNumberOfRecordsOfAnItemMayWait: more than the item's row may have, also when answers are
// lost. The checkpoint passes them, and they come in order.
func TestAnyNumberOfRecordsOfAnItemMayWait(t *testing.T) {
	virtually(t, func(t *testing.T) {
		const versions = maxRowRecords + 20

		w := newTestEnv(t, 1)
		l := newRecorder()
		var down atomic.Bool
		down.Store(true)

		handle := func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}

		transport, throughTransport := w.intercept()
		transport.Inject(embeddedtest.LoseAnswer("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems").
			If(func(c *embeddedtest.Call) bool { return contains(c, retryRowPrefix) }).EveryNth(7))

		p := w.start(w.config(handle, patient, throughTransport, func(c *Config) { c.LeaseDuration = 5 * time.Second }))
		for v := 1; v <= versions; v++ {
			w.write("o-0", v)
		}
		w.until("all wait and the checkpoint has passed them", func() bool {
			rows := w.waitingRows()
			return len(rows) == 1 && rows[0].Length()+rows[0].More == versions && w.lagOf(p) == 0
		})

		if row := w.waitingRows()[0]; len(row.Records) > maxRowRecords {
			t.Errorf("the row has %d records", len(row.Records))
		}

		waiting, err := retryqueue.Items(t.Context(), deadletters.Letters{DynamoDB: w.db, Table: deadTable}, ordersTable, "h")
		if err != nil || len(waiting) != 1 || waiting[0].Records != versions {
			t.Errorf("waiting %+v, %v", waiting, err)
		}

		down.Store(false)
		w.until("all are handled", func() bool { return l.distinct() == versions && len(w.waitingRows()) == 0 })
		w.stopped(p)
		l.ordered(t, 1, versions)
	})
}

// TestTheRowsBesideAnItemsRow: who adds and moves records at the same time.
func TestTheRowsBesideAnItemsRow(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table, hash := w.retries(), store.HashOf("o")
		ctx := t.Context()
		add := func(n int, want retryqueue.Parking) {
			t.Helper()

			r := streams.Record{StreamARN: w.arn, SequenceNumber: strconv.Itoa(n), Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
			add := table.Append
			if n == 1 {
				add = func(ctx context.Context, hash store.ItemHash, r streams.Record) (retryqueue.Parking, error) {
					return table.Create(ctx, hash, r, retryqueue.Row{NextTry: time.Now()})
				}
			}

			if got, err := add(ctx, hash, r); err != nil || got != want {
				t.Fatalf("add %d: %v, %v", n, got, err)
			}
		}
		get := func() retryqueue.Row {
			t.Helper()

			row, ok, err := table.Get(ctx, "h", hash)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}

			return row
		}
		refill := func(row retryqueue.Row, want bool) {
			t.Helper()

			if moved, err := table.Refill(ctx, "h", row); err != nil || moved != want {
				t.Fatalf("moved %t, %v, want %t", moved, err, want)
			}
		}

		for n := 1; n <= maxRowRecords+refillRecords+5; n++ {
			add(n, retryqueue.Parked)
		}
		full := get()
		add(maxRowRecords+refillRecords+5, retryqueue.Parked) // again
		add(maxRowRecords+1, retryqueue.Parked)               // an earlier one

		if row := get(); len(row.Records) != maxRowRecords || row.More != refillRecords+5 {
			t.Fatalf("%d records and %d beside them", len(row.Records), row.More)
		}

		// While records wait beside it, a record does not get into the row although there is room.
		if _, err := table.Pop(ctx, "h", full); err != nil {
			t.Fatal(err)
		}
		add(maxRowRecords+refillRecords+6, retryqueue.Parked)

		refill(full, false) // a record was added since the row was read
		row := get()
		refill(row, true)
		refill(row, false) // another worker has done it
		refill(get(), true)

		if row = get(); row.More != 0 || len(row.Records) != maxRowRecords+refillRecords+5 {
			t.Fatalf("%d records and %d beside them", len(row.Records), row.More)
		}

		for i, r := range row.Records {
			if r.Sequence != strconv.Itoa(i+2) {
				t.Fatalf("record %d has the sequence number %s", i, r.Sequence)
			}
		}

		// A row that was read before has one record, and others wait beside it by now.
		one := row
		one.Records = row.Records[:1]

		if left, err := table.Pop(ctx, "h", one); err != nil || left.Length() != maxRowRecords+refillRecords+4 {
			t.Errorf("%d left, %v", left.Length(), err)
		}
	})
}
