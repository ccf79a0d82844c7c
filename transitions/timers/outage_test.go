package timers_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/timers"
)

// TestAfterAnOutageAllIsMadeOnceOldestFirst: no worker has swept for an hour. Two make what was due, each within its quota and a few
// orders at once, so that an order is at most so far out of turn.
func TestAfterAnOutageAllIsMadeOnceOldestFirst(t *testing.T) {
	const (
		orders    = 120
		perSecond = 100
		atOnce    = 2 * 8 // of both workers
		page      = 20
	)

	w := newWorld(t)
	entered := map[int64]int{} // by the moment at which the timer is due

	for n := range orders {
		w.place(transitions.OrderID(fmt.Sprint("many-", n)))
		entered[w.clock.Now().Add(30*day).UnixMilli()] = n
		w.clock.Advance(30 * time.Second)
	}
	w.clock.Advance(30*day + time.Hour)

	var (
		mu    sync.Mutex
		order []int
		group sync.WaitGroup
	)
	began := time.Now()

	for range 2 {
		timed, err := timers.New(timers.Config{
			DynamoDB: w.client(), Table: dueTable, Orders: w.orders, Log: embeddedtest.Quiet(), Now: w.clock.Now, PerSecond: perSecond,
			Applied: func(timer transitions.Timer, late time.Duration) {
				mu.Lock()
				defer mu.Unlock()

				order = append(order, entered[timer.At.UnixMilli()])

				if late < time.Hour {
					t.Errorf("%s late", late)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}

		group.Go(func() {
			for more := true; more; {
				swept, err := timed.Sweep(t.Context(), page)
				if err != nil {
					t.Error(err)
				}
				more = swept.More
			}
		})
	}
	group.Wait()

	// Both together have handled each row at least once.
	if took := time.Since(began); took < (orders/2-2)*time.Second/perSecond {
		t.Errorf("%d orders took %s", orders, took)
	}

	if len(order) != orders {
		t.Errorf("%d of %d were made", len(order), orders)
	}

	for i, n := range order {
		// A page of each worker, with what is in hand.
		if n > i+2*page+atOnce || n < i-2*page-atOnce {
			t.Errorf("order %d was made as number %d: %v", n, i, order)
			break
		}
	}

	for n := range orders {
		if o := w.order(transitions.OrderID(fmt.Sprint("many-", n))); o.TransitionID != 2 {
			t.Errorf("%s has made %d transitions", o.ID, o.TransitionID)
		}
	}
}

// TestOneWorkerMakesTheOldestMinuteFirst: a worker alone, so that nothing but what it has in hand is out of turn.
func TestOneWorkerMakesTheOldestMinuteFirst(t *testing.T) {
	w := newWorld(t)
	at := map[int64]int{}

	for n := range 60 {
		shop.Place(t, w.orders, transitions.NewOrder{ID: transitions.OrderID(fmt.Sprint("many-", n)), Total: transitions.Money{Currency: "EUR"}})
		at[w.clock.Now().Add(30*day).UnixMilli()] = n
		w.clock.Advance(2 * time.Minute)
	}

	if _, err := w.timers.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(31 * day)

	var order []int

	_, timed := w.machineWith(0, func(timer transitions.Timer, _ time.Duration) { order = append(order, at[timer.At.UnixMilli()]) })
	for more := true; more; {
		swept, err := timed.Sweep(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		more = swept.More
	}

	for i, n := range order {
		// One that is slow may be the last of the 10 rows of its sweep.
		if n > i+9 || n < i-9 {
			t.Errorf("order %d was made as number %d: %v", n, i, order)
		}
	}

	if len(order) != 60 {
		t.Errorf("%d of 60 were made", len(order))
	}
}
