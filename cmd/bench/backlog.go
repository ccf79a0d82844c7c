package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/errgroup"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/embedded"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/once/inventory"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/poller"
	"ratchet/streams/reactions"
	"ratchet/transitions"
)

// backlog is a table whose stream holds records that were not handled. Every poller that
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
	b = &backlog{}

	b.engine, b.stop, err = openEmbedded(embedded.Config{
		// One set of shards for the whole run: a roll would change the work between two drains.
		Streams: embedded.StreamsConfig{InitialShards: shards, RollEvery: -1},
		// An integer in thousandths can be added without a lock.
		Consumed: func(_ string, read, _ float64) { b.reads.Add(int64(read * 1000)) },
	})
	if err != nil {
		return nil, err
	}
	b.db = dynamodb.NewFromConfig(b.engine.AWSConfig())
	b.streams = dynamodbstreams.NewFromConfig(b.engine.AWSConfig())

	for _, table := range []*dynamodb.CreateTableInput{
		transitions.Mapping{}.OrdersTable(streamTable), leases.TableInput(streamLeases), deadletters.TableInput(streamLetters),
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
	// The placed order is a record of the stream, too.
	b.records++

	return out.Item, err
}

// fill writes versions of the item under many keys until the stream has this number of
// records. The content changes and the order does not move, so no reaction acts.
func (b *backlog) fill(ctx context.Context, item dynamo.Item, records int) error {
	const batch = 25 // the most items of one BatchWriteItem

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(streamWriters)

	for first := b.records; first < records; first += batch {
		group.Go(func() error {
			var writes []types.WriteRequest
			for i := first; i < min(first+batch, records); i++ {
				version := maps.Clone(item)
				// Many keys, so that the poller can handle the records of one shard in parallel.
				version["orderId"] = dynamo.S("o-" + strconv.Itoa(i%streamItems))
				version["note"] = dynamo.S(strconv.Itoa(i))
				writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: version}})
			}

			out, err := b.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{streamTable: writes}})
			// The engine takes whole batches. A part of one would leave the backlog short.
			if err == nil && len(out.UnprocessedItems) > 0 {
				err = errors.New("the engine did not take a whole batch")
			}

			return err
		})
	}

	err := group.Wait()
	b.records = records

	return err
}

// bare reads all records in a loop of GetRecords, and returns the number of records per second.
func (b *backlog) bare(ctx context.Context) (float64, error) {
	d, err := b.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &b.arn})
	if err != nil {
		return 0, err
	}

	began, read := time.Now(), 0

	it, err := b.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		// One shard only, so its iterator reads everything.
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

// config returns the configuration of a poller with the handlers, in the group.
func (b *backlog) config(group string, handlers []streams.Handler) poller.Config {
	return poller.Config{
		Streams: b.streams, DynamoDB: b.db, StreamARN: b.arn, LeaseTable: streamLeases, DeadLetterTable: streamLetters,
		Group: group, Handlers: handlers, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// drain lets workers with the handlers drain the backlog, and returns the number of records per
// second that they handled since their start.
func (b *backlog) drain(ctx context.Context, workers int, handlers func() []streams.Handler) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, streamDrainLimit)
	defer cancel()

	// A group of its own has no checkpoints, so it begins with the first record.
	group := "g" + strconv.FormatInt(b.groups.Add(1), 10)
	records := newArrivals(b.records)

	running, stop := context.WithCancel(ctx)
	defer stop()
	began := time.Now()
	all, running := errgroup.WithContext(running)

	for range workers {
		// The last handler sees every record, after the filters of all others.
		cfg := b.config(group, append(handlers(), streams.Handler{Name: "count", Handle: func(context.Context, streams.Record) error {
			records.count()
			return nil
		}}))

		p, err := poller.New(cfg)
		if err != nil {
			return 0, err
		}
		all.Go(func() error { return p.Run(running) })
	}

	// A worker that fails ends the group's context.
	select {
	case <-records.done:
	case <-running.Done():
	}
	took := time.Since(began)
	stop()

	if err := all.Wait(); err != nil {
		return 0, err
	}

	// The limit has ended the drain, and a rate of a part would mislead.
	if ctx.Err() != nil {
		return 0, fmt.Errorf("%d of %d records were handled in %v", records.seen.Load(), b.records, took)
	}

	return float64(b.records) / took.Seconds(), nil
}

func noHandlers() []streams.Handler { return nil }

// reactions returns the reactions to orders without the journal: shipping, stock, payment,
// notify and parked. No record of the backlog moves an order, so of their far sides only the notifier is used:
// it takes the notification of each new order.
func (b *backlog) reactions() []streams.Handler {
	r, err := reactions.New(reactions.Config{
		Orders: b.orders, Booker: &shipping.Booker{}, Stock: &inventory.Stock{}, Payments: &payments.Payments{},
		Parked: &tasktoken.Store{}, Completer: &activities.Completer{}, Notifier: newOrders{},
	})
	if err != nil {
		panic(err) // a mistake in the lines above
	}

	// The first one is the journal, which would write a row per record.
	return r.Handlers()[1:]
}

// newOrders is a notifier that does nothing. A failure would open the circuit of its handler, and the drain would
// fill the retry queue.
type newOrders struct{}

func (newOrders) Accept(context.Context, notify.Notification) error { return nil }

func (newOrders) Erase(context.Context, string) (int, error) { return 0, errors.New("unexpected") }
