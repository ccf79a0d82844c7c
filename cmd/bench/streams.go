package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/poller"
)

const (
	streamTable      = "bench-stream"
	streamLeases     = "bench-stream-leases"
	streamLetters    = "bench-stream-letters"
	streamWriters    = 64
	streamItems      = 1000
	streamMillion    = 1_000_000
	streamShards     = 16
	streamDrainLimit = 5 * time.Minute
)

// benchStreams measures the poller: how fast it drains a backlog beside a bare loop, in turns; the
// time from a commit to its handler; and the read units of idle workers.
func benchStreams(ctx context.Context, work size) (figures []figure, err error) {
	for _, part := range []func(context.Context, size) ([]figure, error){benchDrain, benchMillion, benchDrainWorkers, benchCommitToHandler, benchIdleWorkers} {
		f, err := part(ctx, work)
		if err != nil {
			return figures, fmt.Errorf("streams: %w", err)
		}
		figures = append(figures, f...)
	}

	return figures, nil
}

func benchDrain(ctx context.Context, work size) (figures []figure, err error) {
	b, err := openBacklog(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()

	item, err := b.orderItem(ctx)
	if err != nil {
		return nil, err
	}
	item["padding"] = dynamo.S(strings.Repeat("x", 400))

	if err := b.fill(ctx, item, 20*work.orders); err != nil {
		return nil, err
	}

	ways := []func() (float64, error){
		func() (float64, error) { return b.bare(ctx) },
		func() (float64, error) { return b.drain(ctx, 1, noHandlers) },
		func() (float64, error) { return b.drain(ctx, 1, b.reactions) },
	}
	rates := make([][]float64, len(ways))
	began := time.Now()

	for round := 0; round <= work.rounds || time.Since(began) < work.budget; round++ {
		for _, n := range rand.Perm(len(ways)) {
			// Records of the way before must not be collected during this one.
			runtime.GC()

			rate, err := ways[n]()
			if err != nil {
				return nil, err
			}

			// The first round warms up.
			if round > 0 {
				rates[n] = append(rates[n], rate)
			}
		}
	}

	return []figure{
		{
			name:  "drain_ratio",
			value: ratio(rates[1], rates[0]),
			about: fmt.Sprintf("%d records of 1.2 KB per image in one shard: a poller with a handler that does nothing / a bare loop of GetRecords", b.records),
		},
		{
			name:  "drain_reactions_ratio",
			value: ratio(rates[2], rates[0]),
			about: "the same with five reactions to orders, none of which acts on these records",
		},
		{name: "drain_records_per_second", value: median(rates[1]), unit: "1/s"},
		{name: "drain_bare_records_per_second", value: median(rates[0]), unit: "1/s"},
	}, nil
}

// benchMillion drains a long backlog and samples the heap.
func benchMillion(ctx context.Context, work size) (figures []figure, err error) {
	b, err := openBacklog(ctx, 4)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()

	records := streamMillion
	if work.rounds <= 1 {
		records = 10 * work.orders
	}

	// Small records: a million large ones would measure the disk.
	if err := b.fill(ctx, dynamo.Item{"state": dynamo.S("PENDING")}, records); err != nil {
		return nil, err
	}
	runtime.GC()

	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	sampling, stop := context.WithCancel(ctx)

	var peak uint64
	var sampler sync.WaitGroup
	sampler.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()

		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)

			select {
			case <-sampling.Done():
				return
			case <-tick.C:
			}
		}
	})

	rate, err := b.drain(ctx, 1, noHandlers)
	stop()
	sampler.Wait()

	return []figure{
		{
			name: "drain_peak_mb",
			// The heap before the drain is the engine's.
			value: float64(peak-min(peak, before.HeapAlloc)) / (1 << 20),
			unit:  "MB",
			about: fmt.Sprintf("growth of the heap, engine and garbage included, while one worker drains %d records of 4 shards", records),
		},
		{name: "drain_million_records_per_second", value: rate, unit: "1/s"},
	}, err
}

// benchDrainWorkers drains 16 shards with one, two and four workers in this process.
func benchDrainWorkers(ctx context.Context, work size) (figures []figure, err error) {
	b, err := openBacklog(ctx, streamShards)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()

	if err := b.fill(ctx, dynamo.Item{"state": dynamo.S("PENDING")}, 20*work.orders); err != nil {
		return nil, err
	}

	for _, workers := range []int{1, 2, 4} {
		rate, err := b.drain(ctx, workers, noHandlers)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{
			name:  fmt.Sprintf("drain_16_shards_%d_workers_per_second", workers),
			value: rate,
			unit:  "1/s",
			about: "from the start of the workers, in one process on the same cores",
		})
	}

	return figures, nil
}

// benchCommitToHandler measures the time from the answer of a write to the call of its
// handler, in this process, where the engine wakes the poller.
func benchCommitToHandler(ctx context.Context, work size) (figures []figure, err error) {
	b, err := openBacklog(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()

	// The engine wakes the poller, as in `ratchet dev`; without the hint, the time between two
	// reads would be measured.
	hint, release, err := b.engine.WatchStream(b.arn)
	if err != nil {
		return nil, err
	}
	defer release()

	handled := make(chan time.Time, 1)
	cfg := b.config("", []streams.Handler{{Name: "h", Handle: func(context.Context, streams.Record) error {
		handled <- time.Now()
		return nil
	}}})
	cfg.Hint = hint

	p, err := poller.New(cfg)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	var poller errgroup.Group
	poller.Go(func() error { return p.Run(running) })

	var millis []float64
	for n := range work.orders + 1 {
		_, err := b.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String(streamTable),
			Item:      dynamo.Item{"orderId": dynamo.S("o-1"), "n": dynamo.N(int64(n))},
		})
		if err != nil {
			stop()
			return nil, errors.Join(err, poller.Wait())
		}
		committed := time.Now()

		select {
		case at := <-handled:
			// The handler may begin before the writer has the answer. The first record does not
			// count: it waits until the poller has its lease.
			if n > 0 {
				millis = append(millis, max(float64(at.Sub(committed).Microseconds())/1000, 0))
			}
		case <-ctx.Done():
			stop()
			return nil, errors.Join(ctx.Err(), poller.Wait())
		}
	}
	stop()

	return []figure{{
		name:  "commit_to_handler_p50_ms",
		value: median(millis),
		unit:  "ms",
		about: "from the answer of a write to the call of its handler, in process",
	}}, poller.Wait()
}

// benchIdleWorkers measures the read units of two idle workers of four shards in a minute.
func benchIdleWorkers(ctx context.Context, work size) (figures []figure, err error) {
	b, err := openBacklog(ctx, 4)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()

	settle, watched := 20*time.Second, time.Minute
	if work.rounds <= 1 {
		settle, watched = 5*time.Second, 10*time.Second
	}

	running, stop := context.WithCancel(ctx)
	var workers errgroup.Group
	for range 2 {
		p, err := poller.New(b.config("", []streams.Handler{{Name: "h", Handle: func(context.Context, streams.Record) error { return nil }}}))
		if err != nil {
			stop()
			return nil, errors.Join(err, workers.Wait())
		}
		workers.Go(func() error { return p.Run(running) })
	}

	wait := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	// The first seconds are spent on listing shards and taking leases.
	wait(settle)
	b.reads.Store(0)
	wait(watched)
	units := float64(b.reads.Load()) / 1000 / watched.Minutes()
	stop()

	return []figure{{
		name:  "idle_read_units_per_minute",
		value: units,
		about: "read units of two idle workers of one stream with 4 shards: leases and retry queue",
	}}, errors.Join(workers.Wait(), ctx.Err())
}
