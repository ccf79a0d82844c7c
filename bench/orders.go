package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ratchet/internal/scenario"
	"ratchet/server"
)

// benchOrders drives orders through the whole path: executions, two workers, stream,
// shipping, notifications, duplicates and cancellations, as the demo does, and fails
// when the recount finds anything.
func benchOrders(ctx context.Context, work size) ([]figure, error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	s := &scenario.Session{Plan: scenario.Default(work.orders)}

	b, err := server.Embed(server.Config{
		Data:           filepath.Join(dir, "data"),
		Notify:         "file:" + filepath.Join(dir, "notifications.jsonl"),
		DeclinePercent: 5,
		TimeoutPercent: 3,
		CarrierDelay:   100 * time.Millisecond,
	}, nil, s.Meter.Events())
	if err != nil {
		return nil, err
	}
	defer b.Close()

	count, err := s.Run(ctx, b)
	if err != nil {
		return nil, err
	}

	if n := len(count.Discrepancies); n > 0 {
		return nil, fmt.Errorf("whole path: %d discrepancies, the first: %+v", n, count.Discrepancies[0])
	}

	millis := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

	return []figure{
		{
			name:  "orders_per_second",
			value: float64(work.orders) / s.Took.Seconds(),
			unit:  "1/s",
			about: fmt.Sprintf("%d orders through the whole path, eight activities each, synced to disk", work.orders),
		},
		{
			name:  "reaction_p50_ms",
			value: millis(s.Meter.Latency(0.5)),
			unit:  "ms",
			about: "from a transition to its effect",
		},
		{name: "reaction_p99_ms", value: millis(s.Meter.Latency(0.99)), unit: "ms"},
	}, nil
}
