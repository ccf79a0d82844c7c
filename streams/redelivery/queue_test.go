package redelivery

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/deadletters"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// testQueues returns the queues of a handler "h" that must not be called, on an engine of their own, and the
// transport of their client.
func testQueues(t *testing.T) (*Queues, *embeddedtest.Transport) {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	aws := engine.AWSConfig()
	aws.Retryer = embeddedtest.RetryAtOnce
	transport := embeddedtest.Intercept(&aws)
	client := dynamodb.NewFromConfig(aws)
	embeddedtest.Create(t, client, leases.TableInput("leases"), deadletters.TableInput("dead-letters"))

	handle := func(context.Context, streams.Record) error {
		t.Error("the handler was called")
		return nil
	}
	handlers := calls.WithDefaults([]streams.Handler{{Name: "h", Handle: handle, Concurrency: 64}}, calls.DefaultRetry, time.Minute)
	table := &retryqueue.Table{API: client, Table: "dead-letters", Scope: "orders"}

	scheduler := lanes.NewScheduler(&lanes.Config{
		Handlers:    handlers,
		Concurrency: 64,
		Owner:       "w",
		Log:         embeddedtest.Quiet(),
		Retries:     table,
		Clock:       &dynamo.Clock{},
		Calls:       &lanes.Gate{},
	})

	return NewQueues(&Config{Config: scheduler.Cfg, LeaseTable: "leases", LeaseDuration: 10 * time.Second}, scheduler), transport
}

// heldForAnHour is the work of a queue whose lease is held.
func heldForAnHour() holders.Work {
	return holders.Work{Lease: holders.Hold(nil, leases.Lease{Epoch: 1}, time.Now(), time.Hour)}
}

// TestASuspectQueueIsForgiven: after the time in which each of its records was due, the deaths of
// earlier holders do not count any more, neither here nor in the lease.
func TestASuspectQueueIsForgiven(t *testing.T) {
	virtually(t, func(t *testing.T) {
		queues, _ := testQueues(t)
		ctx := t.Context()

		if _, err := queues.leases.Insert(ctx, leases.Lease{Shard: "h", Epoch: 1}); err != nil {
			t.Fatal(err)
		}

		var lease leases.Lease
		for holder := range leases.SuspectAfter + 1 {
			leases, _, err := queues.leases.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if lease, _, err = queues.leases.Take(ctx, leases[0], strconv.Itoa(holder)); err != nil {
				t.Fatal(err)
			}
		}

		for _, held := range []time.Duration{0, queues.cfg.Handlers[0].Retry.Max + lanes.SuspectQueueFor + time.Second} {
			q := newRetryQueue(ctx, queues, lease, time.Now().Add(-held))
			q.check(time.Now())

			if forgiven := held > 0; q.suspect.Load() == forgiven || q.toStore().ForgetDeaths != forgiven {
				t.Errorf("held for %v: suspect %t", held, q.suspect.Load())
			}

			if err := q.WriteProgress(ctx); err != nil {
				t.Fatal(err)
			}

			leases, _, err := queues.leases.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if forgiven := held > 0; (leases[0].Deaths == 0) != forgiven {
				t.Errorf("held for %v: %d deaths stored", held, leases[0].Deaths)
			}
			lease = leases[0]
		}
	})
}

// TestAWaitingRecordIsNotReadWhileAnotherCallIsTriedAlone: a call may take minutes, and others look
// every 10 ms whether it has ended.
func TestAWaitingRecordIsNotReadWhileAnotherCallIsTriedAlone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		queues, transport := testQueues(t)
		transport.Before(func(c *embeddedtest.Call) error {
			t.Errorf("a call of %s", c.Operation)
			return nil
		})
		queues.scheduler.Cfg.Calls.EnterAlone()

		q := &Queue{queues: queues, h: &queues.cfg.Handlers[0], Work: heldForAnHour()}
		q.suspect.Store(true)

		if next, err := (&queuedItem{queue: q, hash: store.HashOf("o")}).try(t.Context(), nil); err != nil || next.IsZero() {
			t.Errorf("%v, %v", next, err)
		}
	})
}

// TestARowThatIsAddedDuringTheLastLookIsDelivered: the item's step has found no row, and before the item is
// forgotten another one is stored.
func TestARowThatIsAddedDuringTheLastLookIsDelivered(t *testing.T) {
	queues, _ := testQueues(t)
	q := &Queue{queues: queues, h: &queues.cfg.Handlers[0], wake: make(chan struct{}, 1), items: map[store.ItemHash]*queuedItem{}}
	hash := store.HashOf("o")

	add := func() *queuedItem {
		item := &queuedItem{queue: q, hash: hash, due: time.Now()}
		if !q.addItem(item) {
			t.Fatal("there is no room")
		}

		return item
	}
	item := add()
	q.byDue.Pop() // its step runs
	add()
	q.forget(item)

	if !q.knows(hash) || len(q.byDue) != 1 {
		t.Errorf("known: %t, %d items due", q.knows(hash), len(q.byDue))
	}

	q.byDue.Pop()
	item.noted = false
	q.forget(item)

	if q.knows(hash) || len(q.byDue) != 0 {
		t.Errorf("after the last look: known %t, %d items due", q.knows(hash), len(q.byDue))
	}
}

// TestRowsOfBeforeTheLeaseAreOfItsFormerHolder: it may still write to them, so they get this holder's epoch first. That
// ends with the first look that has found all rows, and begins with no later one.
func TestRowsOfBeforeTheLeaseAreOfItsFormerHolder(t *testing.T) {
	virtually(t, func(t *testing.T) {
		queues, _ := testQueues(t)
		ctx := t.Context()

		if _, err := queues.leases.Insert(ctx, leases.Lease{Shard: "h", Epoch: 1}); err != nil {
			t.Fatal(err)
		}

		all, _, err := queues.leases.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}

		lease, _, err := queues.leases.Take(ctx, all[0], "w")
		if err != nil {
			t.Fatal(err)
		}
		q := newRetryQueue(ctx, queues, lease, time.Now())

		// fill leaves room for some items.
		fill := func(room int) {
			for i := 0; len(q.items) < maxQueuedItems-room; i++ {
				q.items[store.HashOf("full"+strconv.Itoa(i))] = nil
			}
		}
		empty := func() { maps.DeleteFunc(q.items, func(_ store.ItemHash, item *queuedItem) bool { return item == nil }) }

		park := func(id string) store.ItemHash {
			r := streams.Record{StreamARN: "arn", ShardID: "s", SequenceNumber: "1", Handler: "h", Epoch: 1, Keys: dynamo.Item{"id": dynamo.S(id)}}
			hash := store.HashOf(store.ItemKey(r))

			if _, err := queues.table.Park(ctx, hash, r, retryqueue.Row{Attempts: 1, NextTry: time.Now().Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}

			return hash
		}
		before := []store.ItemHash{park("a"), park("b")}

		fill(1)
		q.refresh(ctx)
		empty()

		if len(q.items) != 1 {
			t.Fatalf("%d items, want one, because there was no room for the other", len(q.items))
		}
		q.refresh(ctx)

		for _, hash := range before {
			if item := q.items[hash]; item == nil || !item.inherited {
				t.Errorf("an item of before the lease: %+v", item)
			}
		}

		// The second one finds no room at first.
		for room := range 2 {
			hash := park("later" + strconv.Itoa(room))
			fill(room)
			q.refresh(ctx)
			empty()
			q.refresh(ctx)

			if item := q.items[hash]; item == nil || item.inherited {
				t.Errorf("an item of after the first look, room for %d: %+v", room, item)
			}
		}
	})
}
