package poller

import (
	"strconv"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
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
