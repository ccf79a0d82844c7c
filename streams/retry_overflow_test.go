package streams

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
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

		handle := func(ctx context.Context, r Record) error {
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
			return len(rows) == 1 && rows[0].length()+rows[0].more == versions && w.lagOf(p) == 0
		})

		if row := w.waitingRows()[0]; len(row.records) > maxRowRecords {
			t.Errorf("the row has %d records", len(row.records))
		}

		waiting, err := DeadLetters{DynamoDB: w.db, Table: deadTable}.Waiting(t.Context(), ordersTable, "h")
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
		table, hash := w.retries(), hashLane("o")
		ctx := t.Context()
		add := func(n int, want parking) {
			t.Helper()

			r := Record{StreamARN: w.arn, SequenceNumber: strconv.Itoa(n), Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
			add := table.append
			if n == 1 {
				add = func(ctx context.Context, hash laneHash, r Record) (parking, error) {
					return table.create(ctx, hash, r, retryRow{nextTry: time.Now()})
				}
			}

			if got, err := add(ctx, hash, r); err != nil || got != want {
				t.Fatalf("add %d: %v, %v", n, got, err)
			}
		}
		get := func() retryRow {
			t.Helper()

			row, ok, err := table.get(ctx, "h", hash)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}

			return row
		}
		refill := func(row retryRow, want bool) {
			t.Helper()

			if moved, err := table.refill(ctx, "h", row); err != nil || moved != want {
				t.Fatalf("moved %t, %v, want %t", moved, err, want)
			}
		}

		for n := 1; n <= maxRowRecords+refillRecords+5; n++ {
			add(n, parked)
		}
		full := get()
		add(maxRowRecords+refillRecords+5, parked) // again
		add(maxRowRecords+1, parked)               // an earlier one

		if row := get(); len(row.records) != maxRowRecords || row.more != refillRecords+5 {
			t.Fatalf("%d records and %d beside them", len(row.records), row.more)
		}

		// While records wait beside it, a record does not get into the row although there is room.
		if _, err := table.pop(ctx, "h", full); err != nil {
			t.Fatal(err)
		}
		add(maxRowRecords+refillRecords+6, parked)

		refill(full, false) // a record was added since the row was read
		row := get()
		refill(row, true)
		refill(row, false) // another worker has done it
		refill(get(), true)

		if row = get(); row.more != 0 || len(row.records) != maxRowRecords+refillRecords+5 {
			t.Fatalf("%d records and %d beside them", len(row.records), row.more)
		}

		for i, r := range row.records {
			if r.sequence != strconv.Itoa(i+2) {
				t.Fatalf("record %d has the sequence number %s", i, r.sequence)
			}
		}

		// A row that was read before has one record, and others wait beside it by now.
		one := row
		one.records = row.records[:1]

		if left, err := table.pop(ctx, "h", one); err != nil || left.length() != maxRowRecords+refillRecords+4 {
			t.Errorf("%d left, %v", left.length(), err)
		}
	})
}
