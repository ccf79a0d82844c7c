package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
)

const (
	growthTable   = "bench-growth"
	growthSmall   = 10_000
	growthItems   = 1_000_000 // of the large engine; make bench-large has ten million
	growthShort   = 20_000
	growthCallers = 32
	growthPieces  = 2048
	growthReads   = 100_000 // they fill the cache of the engine that was opened again
)

// benchEngineGrowth compares an engine of 10 thousand items with an engine of a million items, or
// of the number in BENCH_ITEMS: each operation on random items, in process. It also measures how
// long the large engine takes to open, and its memory.
func benchEngineGrowth(ctx context.Context, work size) ([]figure, error) {
	items := growthItems
	if work.short() {
		items = growthShort
	}

	// A smaller number would compare the large engine with a larger one.
	items, err := numberFrom("BENCH_ITEMS", items, growthSmall)
	if err != nil {
		return nil, err
	}

	return onDisk(func(dir string) ([]figure, error) {
		small, large := grown{dir: filepath.Join(dir, "small"), items: growthSmall}, grown{dir: filepath.Join(dir, "large"), items: items}
		for _, g := range []*grown{&small, &large} {
			if err := g.load(ctx); err != nil {
				return nil, fmt.Errorf("load %d items: %w", g.items, err)
			}
		}

		figures, err := large.reopen(ctx)
		if err != nil {
			return nil, fmt.Errorf("open %d items: %w", items, err)
		}

		compared, err := compareGrown(ctx, work, &small, &large)

		return append(figures, compared...), err
	})
}

// grown is an engine with a number of items of 200 bytes.
type grown struct {
	dir    string
	items  int
	engine *embedded.Engine
	raw    *rawClient
	db     *dynamodb.Client
}

func (g *grown) open() (err error) {
	if g.engine, err = embedded.Open(embedded.Config{Dir: g.dir}); err != nil {
		return err
	}
	g.raw = &rawClient{url: "http://engine", http: g.engine.HTTPClient()}
	g.db = dynamodb.NewFromConfig(g.engine.AWSConfig())

	return nil
}

// load creates the table and writes the items in batches.
func (g *grown) load(ctx context.Context) (err error) {
	if err := g.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.engine.Close()) }()

	// Raw calls, because the SDK would take longer than the engine.
	_, err = g.raw.call(ctx, targetDynamoDB+"CreateTable", fmt.Appendf(nil, `{"TableName":%q,"BillingMode":"PAY_PER_REQUEST",`+
		`"KeySchema":[{"AttributeName":"orderId","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"orderId","AttributeType":"S"}]}`, growthTable))
	if err != nil {
		return err
	}

	return share(ctx, growthCallers, g.items/batchItems, func(ctx context.Context, n int) error {
		body := fmt.Appendf(nil, `{"RequestItems":{%q:[`, growthTable)
		for i := range batchItems {
			if i > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"PutRequest":{"Item":%s}}`, growthItem(n*batchItems+i))
		}

		_, err := g.raw.call(ctx, targetDynamoDB+"BatchWriteItem", append(body, `]}}`...))

		return err
	})
}

// growthItem returns an item of 200 bytes.
func growthItem(n int) string {
	return fmt.Sprintf(`{"orderId":{"S":"o-%d"},"orderState":{"S":"PENDING"},"revision":{"N":"%d"},"customer":{"S":"c-%06d"},"padding":{"S":"%s"}}`,
		n, n, n%1_000_000, strings.Repeat("x", 120))
}

// reopen opens the data in another process. It measures how long that takes, and the memory of the
// process after reads of random items.
func (g *grown) reopen(ctx context.Context) (figures []figure, err error) {
	p, err := startServed(ctx, serveEngine, g.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()

	g.raw = newRawClient(p.URL)
	defer g.raw.http.CloseIdleConnections()

	err = share(ctx, growthCallers, growthReads, func(ctx context.Context, _ int) error { return g.get(ctx) })
	name := amount(g.items)

	return []figure{
		{
			name:  "engine_open_" + name + "_s",
			value: p.OpenSeconds,
			unit:  "s",
			about: fmt.Sprintf("opening %d items of 200 bytes", g.items),
		},
		{
			name: "engine_memory_" + name + "_mb",
			// The peak is the memory that a host must have.
			value: float64(p.peakMemory()) / (1 << 20),
			unit:  "MB",
			about: fmt.Sprintf("the most memory (RSS) of that process, after %d reads of random items over its socket", growthReads),
		},
	}, err
}

// amount returns a number in the form that the names of figures have: 10m for ten million.
func amount(n int) string {
	switch {
	case n >= 1_000_000:
		return strconv.Itoa(n/1_000_000) + "m"
	default:
		return strconv.Itoa(n/1000) + "k"
	}
}

// key returns the key of a random item.
func (g *grown) key() string { return `{"orderId":{"S":"` + g.id() + `"}}` }

func (g *grown) get(ctx context.Context) error {
	size, err := g.raw.call(ctx, targetDynamoDB+"GetItem", fmt.Appendf(nil, `{"TableName":%q,"Key":%s,"ConsistentRead":true}`, growthTable, g.key()))
	// A missing item is an answer of a few bytes, and would be fast.
	if err == nil && size < 200 {
		err = fmt.Errorf("a GetItem answered %d bytes", size)
	}

	return err
}

func (g *grown) update(ctx context.Context) error {
	_, err := g.raw.call(ctx, targetDynamoDB+"UpdateItem", fmt.Appendf(nil, `{"TableName":%q,"Key":%s,"ConditionExpression":"attribute_exists(orderId)",`+
		`"UpdateExpression":"SET orderState = :state, revision = :to","ExpressionAttributeValues":{":state":{"S":"PAYMENT_RECEIVED"},":to":{"N":"%d"}}}`,
		growthTable, g.key(), rand.Int32()))

	return err
}

// put writes a new item, under the condition that its key does not exist.
func (g *grown) put(ctx context.Context) error {
	// The key is random and beyond the loaded keys: two callers hardly ever use the same key.
	item := growthItem(g.items + rand.Int())
	_, err := g.raw.call(ctx, targetDynamoDB+"PutItem", fmt.Appendf(nil, `{"TableName":%q,"Item":%s,"ConditionExpression":"attribute_not_exists(orderId)"}`, growthTable, item))

	return err
}

func (g *grown) query(ctx context.Context) error {
	_, err := g.raw.call(ctx, targetDynamoDB+"Query", fmt.Appendf(nil, `{"TableName":%q,"KeyConditionExpression":"orderId = :id","ExpressionAttributeValues":{":id":{"S":%q}}}`,
		growthTable, g.id()))

	return err
}

// growthOperation is an operation on a random item, or on a new one.
type growthOperation struct {
	name string
	do   func(*grown, context.Context) error
}

// rawOperations are made without the SDK, because its time would hide the engine's.
var rawOperations = []growthOperation{
	{"get", (*grown).get}, {"query", (*grown).query}, {"update", (*grown).update}, {"put", (*grown).put},
}

// compareGrown compares both engines, operation by operation: as an application makes them, with the SDK's
// client in process, and in the engine alone.
func compareGrown(ctx context.Context, work size, small, large *grown) (figures []figure, err error) {
	for _, g := range []*grown{small, large} {
		if err := g.open(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, g.engine.Close()) }()
	}

	work.budget /= 2 // for each of eight operations
	for _, group := range []struct {
		name, about string
		operations  []growthOperation
	}{
		{"engine_growth_ratio", "with the SDK's client", clientOperations},
		{"engine_growth_raw_ratio", "without the SDK", rawOperations},
	} {
		worst := 0.0
		for _, operation := range group.operations {
			cost, err := growthOf(ctx, work, operation, small, large)
			if err != nil {
				return figures, fmt.Errorf("engine, growth, %s: %w", operation.name, err)
			}

			// The worst operation is the figure that is held.
			worst = max(worst, cost)
			figures = append(figures, figure{
				name:  group.name + "_" + operation.name,
				value: cost,
				about: fmt.Sprintf("time of the operation with %d items / with %d, random items, 32 callers in process, %s", large.items, small.items, group.about),
			})
		}

		figures = append(figures, figure{name: group.name, value: worst, about: "the largest of these"})
	}

	return figures, nil
}

// growthOf returns the time of the operation in the large engine divided by its time in the small
// engine.
func growthOf(ctx context.Context, work size, operation growthOperation, small, large *grown) (float64, error) {
	on := func(g *grown) way {
		return way{
			prepare: func(context.Context, int) error { return nil },
			do:      func(ctx context.Context, _, _ int) error { return operation.do(g, ctx) },
		}
	}

	m, err := turns(ctx, work, growthCallers, growthPieces, on(small), on(large))
	if err != nil {
		return 0, err
	}

	// The rate of the small engine over the large one's is the quotient of the times.
	return ratio(m[0].rates, m[1].rates), nil
}
