package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"ratchet/internal/worker"
	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/streams/status"
	"ratchet/transitions"
)

// ordersStored are the numbers of orders that are in the tables before a run. BENCH_ORDERS is the largest of them.
var ordersStored = []int{10_000, 100_000, 1_000_000}

// ordersStoredDefault is the largest number without BENCH_ORDERS.
const ordersStoredDefault = 100_000

// ordersRun is a run of the whole path beside stored orders.
type ordersRun struct {
	stored int
	rate   float64
	p99    time.Duration
	// memory is the memory of the process at the end, in bytes, and fill how many orders were stored per second, reactions included.
	memory, fill float64
}

// benchOrdersGrowth drives orders through the whole path on tables that have more and more orders. The smallest number is
// measured first and last, because the speed of the machine changes meanwhile.
func benchOrdersGrowth(ctx context.Context, work size) (figures []figure, err error) {
	sizes, err := storedSizes()
	if err != nil {
		return nil, err
	}

	var runs []ordersRun
	for _, stored := range append(sizes, sizes[0]) {
		run, err := beside(ctx, stored, work.orders)
		if err != nil {
			return figures, fmt.Errorf("%d orders stored: %w", stored, err)
		}
		runs = append(runs, run)

		fmt.Fprintf(os.Stderr, "%d orders stored: %.0f orders per second, reactions p99 %s, %.0f MB, stored at %.0f per second\n",
			stored, run.rate, run.p99.Round(time.Millisecond), run.memory/1e6, run.fill)
	}

	first, largest, again := runs[0], runs[len(sizes)-1], runs[len(sizes)]
	for _, run := range runs[:len(sizes)] {
		suffix := "_stored_" + strconv.Itoa(run.stored)
		figures = append(figures,
			figure{name: "orders_per_second" + suffix, value: run.rate, unit: "1/s", about: fmt.Sprintf("%d orders with nothing to pay, in tables with %d others", work.orders, run.stored)},
			figure{name: "reaction_p99_ms" + suffix, value: float64(run.p99.Milliseconds()), unit: "ms", about: "of these orders, from a transition to its effect"},
			figure{name: "orders_memory_mb" + suffix, value: run.memory / 1e6, unit: "MB", about: "of the process, engine and driver included, after a collection"})
	}

	return append(figures, figure{
		name:  "orders_growth_ratio",
		value: largest.rate / ((first.rate + again.rate) / 2),
		about: fmt.Sprintf("orders per second with %d orders stored, per that with %d, measured before and after", largest.stored, first.stored),
	}), nil
}

// storedSizes returns the numbers of stored orders up to that of BENCH_ORDERS.
func storedSizes() (sizes []int, err error) {
	largest, err := numberFrom("BENCH_ORDERS", ordersStoredDefault, ordersStored[0])
	if err != nil {
		return nil, err
	}

	for _, n := range ordersStored {
		if n < largest {
			sizes = append(sizes, n)
		}
	}

	return append(sizes, largest), nil
}

// beside drives orders on a new backend whose tables have the stored orders.
func beside(ctx context.Context, stored, orders int) (g ordersRun, err error) {
	g.stored = stored
	plan := scenario.Default(orders)
	plan.Free = true

	s := &scenario.Session{Plan: plan}
	s.Prepare = func(ctx context.Context, b *server.Backend) error {
		began := time.Now()

		if err := storeOrders(ctx, b, stored); err != nil {
			return err
		}
		g.fill = float64(stored) / time.Since(began).Seconds()

		return nil
	}
	s.Ended = func() { g.memory = residentMemory() }

	if err := wholePath(ctx, s); err != nil {
		return g, err
	}
	g.rate, g.p99 = float64(orders)/s.Took.Seconds(), s.Meter.Latency(0.99)

	return g, nil
}

// storeOrders places orders that nothing else happens to, and waits until all handlers of the workers are done with them, and the
// retry queues are empty: the work of these orders does not count in the measurement.
func storeOrders(ctx context.Context, b *server.Backend, n int) error {
	err := share(ctx, 64, n, func(ctx context.Context, i int) error {
		_, err := b.Orders.Create(ctx, transitions.NewOrder{
			ID:    transitions.OrderID(scenario.StoredPrefix + strconv.Itoa(i)),
			Items: []transitions.Item{{SKU: "mug-00", Quantity: 1}},
			Total: transitions.Money{Currency: "EUR"},
		})

		return err
	})
	if err != nil {
		return err
	}

	if err := handledUntil(ctx, b, time.Now()); err != nil {
		return err
	}

	return queuesEmpty(ctx, b)
}

// queuesEmpty waits until no record waits in a retry queue: a handler that was slower than the others while orders came as fast as
// they were stored has the surplus there.
func queuesEmpty(ctx context.Context, b *server.Backend) error {
	// Each look counts all rows, so there is one a second.
	return lookUntil(ctx, b.StreamInspector(), time.Second, func(seen status.Status) bool {
		return !slices.ContainsFunc(seen.Handlers, func(h status.HandlerStatus) bool { return h.Items > 0 })
	})
}

// handledUntil waits until the workers have handled all changes of orders that were made before the moment, by the checkpoints of
// the stream's shards.
func handledUntil(ctx context.Context, b *server.Backend, moment time.Time) error {
	inspector := b.StreamInspector()
	// Only the first record after each checkpoint counts.
	inspector.Handlers, inspector.Count, inspector.Watch = nil, 1, time.Nanosecond

	handled := func(shard status.ShardStatus) bool {
		// The time of a record has whole seconds, rounded down.
		return shard.State == status.ShardFinished || shard.Unread == "" && (shard.OldestAt.IsZero() || shard.OldestAt.After(moment))
	}

	return lookUntil(ctx, inspector, 50*time.Millisecond, func(seen status.Status) bool {
		return !slices.ContainsFunc(seen.Shards, func(shard status.ShardStatus) bool { return !handled(shard) })
	})
}

// lookUntil looks at the stream until the status is as it should be, with pauses in between.
func lookUntil(ctx context.Context, inspector status.Inspector, pause time.Duration, ok func(status.Status) bool) error {
	for {
		seen, err := inspector.Status(ctx)
		if err != nil || ok(seen) {
			return err
		}

		if !worker.Wait(ctx, pause) {
			return context.Cause(ctx)
		}
	}
}

// residentMemory returns the memory that this process has now, in bytes, after what is free was given back.
func residentMemory() float64 {
	debug.FreeOSMemory()

	if bytes := processMemory("self", "VmRSS"); bytes > 0 {
		return float64(bytes)
	}

	// Elsewhere: what Go has from the system.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)

	return float64(m.Sys - m.HeapReleased)
}
