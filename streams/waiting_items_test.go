package streams

import (
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

func TestALoadDropsOnlyItemsThatAreGone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table := w.retries()
		items := &waitingItems{table: table, handlers: []Handler{{Name: "h"}}, items: map[waitingItem]uint64{}, loading: newCallLock()}
		gone, kept, fresh := waitingItem{0, hashLane("gone")}, waitingItem{0, hashLane("kept")}, waitingItem{0, hashLane("fresh")}
		r := Record{StreamARN: w.arn, SequenceNumber: "8", Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
		ctx := t.Context()

		if _, err := table.create(ctx, kept.hash, r, retryRow{nextTry: time.Now()}); err != nil {
			t.Fatal(err)
		}
		items.add(gone)

		transport, throughTransport := w.intercept()
		cfg := w.config(nil, throughTransport)
		table.api = cfg.DynamoDB
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
