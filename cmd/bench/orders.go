package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ratchet/server"
	"ratchet/server/scenario"
)

// benchOrders drives orders through the whole path: executions, two workers, stream, shipping,
// notifications, duplicates and cancellations, as the demo does, and fails when the recount finds
// anything. The orders of the first run have nothing to pay, so the ledger is left out; the orders
// of the second run are charged through it. Executions of four activities that do nothing run in
// turn with them.
func benchOrders(ctx context.Context, work size) ([]figure, error) {
	var free, paid, noops, cpu []float64
	var last *scenario.Session
	millis := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

	for range max(work.rounds, 1) {
		// In the same round, so the ratio compares rates of the same moment.
		n, err := noopRate(ctx, work.orders)
		if err != nil {
			return nil, err
		}

		plan := scenario.Default(work.orders)
		plan.Free = true

		f := &scenario.Session{Plan: plan}
		spent := measureUse(f)
		if err := wholePath(ctx, f); err != nil {
			return nil, err
		}

		p := &scenario.Session{Plan: scenario.Default(work.orders)}
		if err := wholePath(ctx, p); err != nil {
			return nil, err
		}

		rate := func(s *scenario.Session) float64 { return float64(work.orders) / s.Took.Seconds() }
		free, paid, noops, last = append(free, rate(f)), append(paid, rate(p)), append(noops, n), p
		cpu = append(cpu, millis(spent().cpu)/float64(work.orders))
	}

	return []figure{
		{
			name:  "orders_per_second",
			value: median(free),
			unit:  "1/s",
			about: fmt.Sprintf("%d orders through the whole path, with nothing to pay, synced to disk", work.orders),
		},
		{
			name:  "order_cpu_ms",
			value: median(cpu),
			unit:  "ms",
			about: "processor time of one of these orders: engine, two workers, sandboxes and driver",
		},
		{
			name:  "orders_per_second_ledger",
			value: median(paid),
			unit:  "1/s",
			about: "the same, each charged through payments and the ledger",
		},
		{
			name:  "orders_vs_noop_ratio",
			value: ratio(free, noops),
			about: "orders with nothing to pay, per execution of four activities that do nothing, in the same run",
		},
		{
			// The latency is from the run with payments, which has all reactions.
			name:  "reaction_p50_ms",
			value: millis(last.Meter.Latency(0.5)),
			unit:  "ms",
			about: "from a transition to its effect",
		},
		{name: "reaction_p99_ms", value: millis(last.Meter.Latency(0.99)), unit: "ms"},
	}, nil
}

// benchOrderCPU drives only orders with nothing to pay, for a profile and for a comparison with an earlier build.
func benchOrderCPU(ctx context.Context, work size) ([]figure, error) {
	var cpu, mallocs, kilobytes []float64
	for range max(work.rounds, 1) {
		plan := scenario.Default(work.orders)
		plan.Free = true

		s := &scenario.Session{Plan: plan}
		spent := measureUse(s)
		if err := wholePath(ctx, s); err != nil {
			return nil, err
		}
		use, orders := spent(), float64(work.orders)

		cpu = append(cpu, rushMillis(use.cpu)/orders)
		mallocs = append(mallocs, float64(use.mallocs)/orders)
		kilobytes = append(kilobytes, float64(use.allocated)/1000/orders)
	}

	return []figure{
		{name: "order_cpu_ms", value: median(cpu), unit: "ms", about: "processor time of an order with nothing to pay: engine, two workers, sandboxes and driver"},
		{name: "order_allocations", value: median(mallocs), about: "allocations of the same"},
		{name: "order_allocated_kb", value: median(kilobytes), unit: "KB", about: "their bytes"},
	}, nil
}

// used is what the process has used between two moments.
type used struct {
	cpu       time.Duration
	mallocs   uint64
	allocated uint64 // bytes
}

// measureUse prepares the session to measure what this process uses from the first request to the end of the
// last execution. The returned function returns it.
func measureUse(s *scenario.Session) func() used {
	var from, to moment
	s.Prepare = func(context.Context, *server.Backend) error {
		from = now()
		return nil
	}
	s.Ended = func() { to = now() }

	return func() used {
		return used{
			cpu:       to.cpu - from.cpu,
			mallocs:   to.memory.Mallocs - from.memory.Mallocs,
			allocated: to.memory.TotalAlloc - from.memory.TotalAlloc,
		}
	}
}

// wholePath runs a session on a backend of its own.
func wholePath(ctx context.Context, s *scenario.Session) error {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	b, err := server.Embed(server.Config{
		Data:           filepath.Join(dir, "data"),
		Notify:         "file:" + filepath.Join(dir, "notifications.jsonl"),
		DeclinePercent: 5,
		TimeoutPercent: 3,
		CarrierDelay:   100 * time.Millisecond,
	}, nil, s.Meter.Events())
	if err != nil {
		return err
	}
	defer b.Close()

	count, err := s.Run(ctx, b)
	if err != nil {
		return err
	}

	// A rate with wrong results does not count.
	if n := len(count.Discrepancies); n > 0 {
		return fmt.Errorf("whole path: %d discrepancies, the first: %+v", n, count.Discrepancies[0])
	}

	return nil
}
