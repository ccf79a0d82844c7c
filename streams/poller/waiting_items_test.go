package poller

import (
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

func TestALoadDropsOnlyItemsThatAreGone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table := w.retries()
		items := &waitingItems{table: table, handlers: []streams.Handler{{Name: "h"}}, items: map[waitingItem]uint64{}, loading: worker.NewCallLock()}
		gone, kept, fresh := waitingItem{0, store.HashOf("gone")}, waitingItem{0, store.HashOf("kept")}, waitingItem{0, store.HashOf("fresh")}
		r := streams.Record{StreamARN: w.arn, SequenceNumber: "8", Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
		ctx := t.Context()

		if _, err := table.Create(ctx, kept.hash, r, retryqueue.Row{NextTry: time.Now()}); err != nil {
			t.Fatal(err)
		}
		items.add(gone)

		transport, throughTransport := w.intercept()
		cfg := w.config(nil, throughTransport)
		table.API = cfg.DynamoDB
		transport.After(func(*embeddedtest.Call) error {
			items.add(fresh) // while the rows are read
			return nil
		})

		if err := items.load(ctx); err != nil {
			t.Fatal(err)
		}

		if items.has(gone) || !items.has(kept) || !items.has(fresh) {
			t.Errorf("known: gone %v, kept %v, fresh %v", items.has(gone), items.has(kept), items.has(fresh))
		}

		version, _ := items.version(kept)
		items.add(kept)
		items.removeIf(kept, version)

		if !items.has(kept) {
			t.Error("an item that was added again was removed")
		}
	})
}
