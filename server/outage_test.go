package server_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
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

// TestABankAndACarrierThatAreDown: two thirds of the orders are started in the
// outage, the others have been paid before it. A third of all are canceled in it. Nothing is
// lost and nothing is doubled: every order ends where its history says.
func TestABankAndACarrierThatAreDown(t *testing.T) {
	t.Parallel() // its engine and its clock are its own

	if testing.Short() {
		t.Skip("the race detector sees calls that fail in TestACrashAtAnyCallLosesNothing, and many orders in TestManyOrdersAddUp")
	}

	dir, outage := t.TempDir(), outageOf()

	synctest.Test(t, func(t *testing.T) {
		b, err := server.Embed(server.Config{
			Data:         filepath.Join(dir, "data"),
			Notify:       "dir:" + filepath.Join(dir, "notices"),
			CarrierDelay: 90 * time.Second,
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

		began := time.Now()
		wire.Before(func(c *embeddedtest.Call) error {
			if strings.Contains(string(c.Body()), "ratchet-sandbox-") && time.Since(began) < outage {
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

		for _, id := range append(before, during...) {
			if undone[id] {
				canceled.wait(id)
			} else {
				delivered.wait(id)
			}
		}

		if passed := time.Since(began); passed < outage || passed > outage+time.Hour {
			t.Errorf("the orders ended after %v", passed)
		}
	})
}
