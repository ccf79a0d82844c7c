package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/errgroup"

	"ratchet/activities"
	"ratchet/embedded"
	"ratchet/internal/dynamo"
	"ratchet/inventory"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/tasktoken"
	"ratchet/transitions"
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

// backlog is a table whose stream holds records that nobody has handled. Every poller that
// drains it belongs to a group of its own, so each begins with the first record.
type backlog struct {
	engine  *embedded.Engine
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
	orders  *transitions.Orders
	arn     string
	records int
	groups  atomic.Int64
	reads   atomic.Int64 // read units in thousandths
	stop    func() error
}

// openBacklog opens an engine with a table of orders and its stream.
func openBacklog(ctx context.Context, shards int) (b *backlog, err error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return nil, err
	}

	b = &backlog{}

	b.engine, err = embedded.Open(embedded.Config{
		Dir:      dir,
		Streams:  embedded.StreamsConfig{InitialShards: shards, RollEvery: -1},
		Consumed: func(_ string, read, _ float64) { b.reads.Add(int64(read * 1000)) },
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b.stop = func() error { return errors.Join(b.engine.Close(), os.RemoveAll(dir)) }
	b.db = dynamodb.NewFromConfig(b.engine.AWSConfig())
	b.streams = dynamodbstreams.NewFromConfig(b.engine.AWSConfig())

	for _, table := range []*dynamodb.CreateTableInput{
		transitions.OrdersTable(streamTable), streams.LeaseTableInput(streamLeases), streams.DeadLetterTableInput(streamLetters),
	} {
		if _, err := b.db.CreateTable(ctx, table); err != nil {
			return nil, errors.Join(err, b.stop())
		}
	}

	if b.orders, err = transitions.New(transitions.Config{DynamoDB: b.db, Table: streamTable, Log: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, errors.Join(err, b.stop())
	}

	out, err := b.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(streamTable)})
	if err != nil {
		return nil, errors.Join(err, b.stop())
	}
	b.arn = aws.ToString(out.Table.LatestStreamArn)

	return b, nil
}

// orderItem places an order and returns its item, about 1.2 KB with the padding.
func (b *backlog) orderItem(ctx context.Context) (dynamo.Item, error) {
	lines := make([]transitions.Item, 4)
	for i := range lines {
		lines[i] = transitions.Item{SKU: "SKU-" + strconv.Itoa(i), Quantity: 1, Price: 1999}
	}

	if _, err := b.orders.Create(ctx, transitions.NewOrder{ID: "template", Items: lines, Total: transitions.Money{Amount: 7996, Currency: "EUR"}}); err != nil {
		return nil, err
	}

	out, err := b.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(streamTable), Key: dynamo.Item{"orderId": dynamo.S("template")}})
	b.records++

	return out.Item, err
}

// fill writes versions of the item under many keys until the stream has so many records. The
// content changes and the order does not move, so no reaction acts.
func (b *backlog) fill(ctx context.Context, item dynamo.Item, records int) error {
	group, ctx := errgroup.WithContext(ctx)
	for n := range streamWriters {
		group.Go(func() error {
			for i := b.records + n; i < records; i += streamWriters {
				version := dynamo.Item{}
				for name, v := range item {
					version[name] = v
				}
				version["orderId"] = dynamo.S("o-" + strconv.Itoa(i%streamItems))
				version["note"] = dynamo.S(strconv.Itoa(i))

				if _, err := b.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(streamTable), Item: version}); err != nil {
					return err
				}
			}

			return nil
		})
	}

	err := group.Wait()
	b.records = records

	return err
}

// bare reads all records in a loop of GetRecords, and returns how many per second.
func (b *backlog) bare(ctx context.Context) (float64, error) {
	d, err := b.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &b.arn})
	if err != nil {
		return 0, err
	}

	began, read := time.Now(), 0

	it, err := b.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &b.arn, ShardId: d.StreamDescription.Shards[0].ShardId, ShardIteratorType: "TRIM_HORIZON",
	})
	if err != nil {
		return 0, err
	}

	for iterator := it.ShardIterator; read < b.records; {
		out, err := b.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if err != nil {
			return 0, err
		}
		read, iterator = read+len(out.Records), out.NextShardIterator
	}

	return float64(read) / time.Since(began).Seconds(), nil
}

// config returns the configuration of a poller in a new group. Its handlers are counted: the
// function that it returns waits until all records were handled or filtered out.
func (b *backlog) config(group string, handlers []streams.Handler) streams.Config {
	return streams.Config{
		Streams: b.streams, DynamoDB: b.db, StreamARN: b.arn, LeaseTable: streamLeases, DeadLetterTable: streamLetters,
		Group: group, Handlers: handlers, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// drain lets workers with the handlers drain the backlog, and returns how many records per
// second they handled, from their start on.
func (b *backlog) drain(ctx context.Context, workers int, handlers func() []streams.Handler) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, streamDrainLimit)
	defer cancel()

	group := "g" + strconv.FormatInt(b.groups.Add(1), 10)
	done := make(chan struct{})

	// The last handler sees every record, after the filters of all others.
	var seen atomic.Int64
	count := func() {
		if seen.Add(1) == int64(b.records) {
			close(done)
		}
	}

	running, stop := context.WithCancel(ctx)
	defer stop()
	began := time.Now()
	all, running := errgroup.WithContext(running)

	for range workers {
		cfg := b.config(group, append(handlers(), streams.Handler{Name: "count", Handle: func(context.Context, streams.Record) error {
			count()
			return nil
		}}))

		p, err := streams.New(cfg)
		if err != nil {
			return 0, err
		}
		all.Go(func() error { return p.Run(running) })
	}

	select {
	case <-done:
	case <-running.Done():
	}
	took := time.Since(began)
	stop()

	if err := all.Wait(); err != nil {
		return 0, err
	}

	if ctx.Err() != nil {
		return 0, fmt.Errorf("%d of %d records were handled in %v", seen.Load(), b.records, took)
	}

	return float64(b.records) / took.Seconds(), nil
}

func noHandlers() []streams.Handler { return nil }

// reactions returns the reactions to orders without the journal: shipping, stock, payment,
// notify and parked. Their far sides are never used, because no record of the backlog moves an
// order.
func (b *backlog) reactions() []streams.Handler {
	r, err := reactions.New(reactions.Config{
		Orders: b.orders, Claims: &once.Claims{}, Booker: &shipping.Booker{}, Stock: &inventory.Stock{}, Payments: &payments.Payments{},
		Parked: &tasktoken.Store{}, Completer: &activities.Completer{}, Sink: noSink{},
	})
	if err != nil {
		panic(err) // a mistake in the lines above
	}

	return r.Handlers()[1:]
}

type noSink struct{}

func (noSink) Send(context.Context, notify.Notification) error { return errors.New("unexpected") }

// benchStreams measures the poller: draining a backlog beside a bare loop, in turns; from a
// commit to its handler; and what idle workers read.
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
			runtime.GC()

			rate, err := ways[n]()
			if err != nil {
				return nil, err
			}

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
			name:  "drain_peak_mb",
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

	p, err := streams.New(cfg)
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
			// The handler may begin before the writer has the answer.
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

// benchIdleWorkers measures what two idle workers of four shards read in a minute.
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
		p, err := streams.New(b.config("", []streams.Handler{{Name: "h", Handle: func(context.Context, streams.Record) error { return nil }}}))
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
