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

// TestAnyNumberOfRecordsOfAnItemMayWait: also when answers are lost. The checkpoint passes them, and they
// come in order.
func TestAnyNumberOfRecordsOfAnItemMayWait(t *testing.T) {
	virtually(t, func(t *testing.T) {
		const versions = 120

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
			return len(w.waitingRows()) == versions && w.lagOf(p) == 0
		})

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

// storeVersions puts so many versions of o-0 into the retry queue.
func (w *testEnv) storeVersions(versions int) store.ItemHash {
	w.Helper()

	for v := 1; v <= versions; v++ {
		w.storeVersion(w.retries(), v)
	}

	return store.HashOf("o-0")
}

func (w *testEnv) storeVersion(table *retryqueue.Table, version int) {
	w.Helper()

	if _, err := table.Park(w.Context(), store.HashOf("o-0"), w.waitingVersion(version), retryqueue.Row{NextTry: time.Now()}); err != nil {
		w.Fatal(err)
	}
}

// waitingVersion returns a record of o-0 for the handler h.
func (w *testEnv) waitingVersion(version int) streams.Record {
	return streams.Record{
		StreamARN: w.arn, SequenceNumber: strconv.Itoa(version), Handler: "h", EventName: streams.Modify,
		Keys: dynamo.Item{"id": dynamo.S("o-0")},
		New:  dynamo.Item{"version": dynamo.N(int64(version))},
	}
}
