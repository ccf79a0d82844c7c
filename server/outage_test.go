package server_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/operate/executions"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// outageOf returns how long the bank and the carrier are down: an hour in the long run, in which
// the engine syncs some ten thousand writes of leases to disk.
func outageOf() time.Duration {
	if *allPoints {
		return time.Hour
	}

	return 3 * time.Minute
}

// farReceiver is a receiver of notifications that may be down.
type farReceiver struct {
	down func() bool

	mu   sync.Mutex
	sent map[string]int // by key
}

// Send is part of notify.Destination.
func (r *farReceiver) Send(_ context.Context, m notify.Message) (notify.Answer, error) {
	if r.down() {
		return notify.Answer{}, errors.New("the receiver is down")
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	r.sent[m.Key]++

	return notify.Answer{}, nil
}

// unexplained returns which cause of a wait the explanation of the order does not name. An order waits for
// the bank until it is paid, for the carrier until it is booked, and its notifications for the receiver.
func unexplained(t *testing.T, b *server.Backend, id transitions.OrderID) string {
	e, err := inspect.Explain(t.Context(), b.Orders, id)
	// It is about to be placed: its execution says so.
	if errors.Is(err, transitions.ErrUnknownOrder) {
		p, open, err := b.Executions.Unplaced(t.Context(), id)
		if err != nil || !open || p.Kind != executions.Placing {
			return fmt.Sprintf("it is not placed: %+v, %v", p, err)
		}

		return ""
	}

	if err != nil {
		return err.Error()
	}

	moments, due, incomplete := e.Timeline(t.Context(), b.Orders.Definition(), b.Around())
	if len(incomplete) > 0 {
		return fmt.Sprintf("incomplete: %v", incomplete)
	}

	names := func(what string, is func(inspect.Due) bool) string {
		if slices.ContainsFunc(due, is) {
			return ""
		}

		return fmt.Sprintf("%s for %v, and %s is not named: %+v", e.Order.State, time.Since(e.Order.UpdatedAt), what, due)
	}

	for _, m := range moments {
		if m.Kind == "delivery" && strings.Contains(m.What, ": PENDING after") && !strings.Contains(m.What+m.Why, "is down") && !strings.Contains(m.What+m.Why, "the endpoint fails since") && time.Since(m.At) > explainedWithin {
			return "no cause of a notification: " + m.What
		}
	}

	switch e.Order.State {
	case workflow.Pending:
		return names("the bank", func(d inspect.Due) bool { return d.Payment != "" })
	case workflow.PaymentReceived:
		unbooked, err := b.Around().ShipmentDue(t.Context(), e.Order)
		if err != nil || !unbooked {
			return ""
		}

		return names("the carrier's error and the next try", func(d inspect.Due) bool {
			return d.Handler == reactions.ShippingHandler && d.Error != "" && !d.NextTry.IsZero()
		})
	}

	return ""
}

// explainedWithin is how long an order may wait before its explanation names the cause: five seconds in the
// shard's memory, and five more.
const explainedWithin = 10 * time.Second

// TestABankACarrierAndAReceiverThatAreDown: two thirds of the orders are started in the
// outage, the others have been paid before it. A third of all are canceled in it. Nothing is
// lost and nothing is doubled: every order ends where its history says, every notification is sent, and
// at every moment that is looked at the explanation names the cause of the wait.
func TestABankACarrierAndAReceiverThatAreDown(t *testing.T) {
	t.Parallel() // its engine and its clock are its own

	if testing.Short() {
		t.Skip("the race detector sees calls that fail in TestACrashAtAnyCallLosesNothing, and many orders in TestManyOrdersAddUp")
	}

	dir, outage := t.TempDir(), outageOf()

	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int64
		isDown := func() bool { return began.Load() > 0 && time.Since(time.Unix(0, began.Load())) < outage }
		receiver := &farReceiver{down: isDown, sent: map[string]int{}}

		b, err := server.Embed(server.Config{
			Data:         filepath.Join(dir, "data"),
			Notify:       "far:receiver",
			CarrierDelay: 90 * time.Second,
			Parts: server.Parts{Destinations: map[string]destination.Scheme{
				"far": {Open: func(notify.Endpoint) (notify.Destination, error) { return receiver, nil }},
			}},
		}, embeddedtest.Quiet(), server.Events{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()

		if err := b.Init(t.Context()); err != nil {
			t.Fatal(err)
		}

		if err := b.Stock.Set(t.Context(), "mug", 1000); err != nil {
			t.Fatal(err)
		}

		delivered := &matrix{Backend: b, t: t, story: stories[0]}
		canceled := &matrix{Backend: b, t: t, story: story{state: workflow.Cancelled}} // its payment was refunded, voided, or never made

		worker, wire, err := b.Process()
		if err != nil {
			t.Fatal(err)
		}

		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for _, run := range []func(context.Context) error{b.Engine.Run, b.Carrier.Run, func(ctx context.Context) error { return worker.Run(ctx, "worker") }} {
			group.Go(func() {
				if err := run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		defer group.Wait()
		defer stop()

		start := func(n int) []transitions.OrderID {
			var ids []transitions.OrderID
			for range n {
				order := mug
				delivered.runs++
				order.ID = transitions.OrderID(fmt.Sprintf("o-%04d", delivered.runs))
				ids = append(ids, order.ID)
				delivered.begin(order)
			}

			return ids
		}

		before := start(6)
		for _, id := range before {
			delivered.moveFrom(id, workflow.PaymentReceived, "") // it is paid
		}

		began.Store(time.Now().UnixNano())
		wire.Before(func(c *embeddedtest.Call) error {
			if strings.Contains(string(c.Body()), "ratchet-sandbox-") && isDown() {
				return embeddedtest.ErrLost
			}

			return nil
		})

		during := start(12)
		time.Sleep(time.Minute)

		undone := map[transitions.OrderID]bool{}
		for i, id := range append(before, during...) {
			if i%3 == 0 {
				undone[id] = true
				canceled.moveFrom(id, "", workflow.Cancel)
			}
		}

		looks := 0
		for isDown() {
			for _, id := range append(before, during...) {
				if cause := unexplained(t, b, id); cause != "" {
					t.Errorf("order %s: %s", id, cause)
				}
				looks++
			}
			time.Sleep(outage / 9)
		}

		if looks == 0 {
			t.Error("no moment was looked at")
		}

		for _, id := range append(before, during...) {
			if undone[id] {
				canceled.wait(id)
			} else {
				delivered.wait(id)
			}
		}

		if passed := time.Since(time.Unix(0, began.Load())); passed < outage || passed > outage+time.Hour {
			t.Errorf("the orders ended after %v", passed)
		}

		notified(t, b, receiver, append(before, during...))
	})
}

// notified waits until every notification of the orders is delivered, and checks that each was sent once
// under its key.
func notified(t *testing.T, b *server.Backend, receiver *farReceiver, ids []transitions.OrderID) {
	t.Helper()

	for _, id := range ids {
		for waited := time.Now(); ; time.Sleep(time.Minute) {
			all, err := b.Deliveries.OfOrder(t.Context(), string(id))
			if err != nil {
				t.Fatal(err)
			}

			open := slices.ContainsFunc(all, func(d notify.Delivery) bool { return d.Status != notify.Delivered })
			if !open && len(all) > 0 {
				break
			}

			if time.Since(waited) > 24*time.Hour {
				t.Fatalf("the notifications of order %s: %+v", id, all)
			}
		}
	}

	receiver.mu.Lock()
	defer receiver.mu.Unlock()

	for key, n := range receiver.sent {
		if n != 1 {
			t.Errorf("notification %s was sent %d times", key, n)
		}
	}
}
