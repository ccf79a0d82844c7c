package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/embedded"
	"ratchet/embedded/faults"
	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

const (
	timersOrders   = "orders"
	timersDue      = "orders-due"
	timersRequests = "order-requests"
	// timersDelay is about what a call of DynamoDB takes. Without it, sweeps and other work would compete for the
	// processors of this machine, which is not what happens on AWS.
	timersDelay = 5 * time.Millisecond
	// timersWorkers sweep at the same time, each as a process of Ratchet does.
	timersWorkers = 2
	// timersPage is how many rows one sweep handles, as in a worker.
	timersPage = 500
	// timersPerSecond is how many due orders each of them handles per second, as in a worker.
	timersPerSecond = 200
	// timersOthers is how many transitions of other orders are requested per second.
	timersOthers = 100
	// timersBefore is how long they are measured alone at least: a percentile of few requests is chance.
	timersBefore = 10 * time.Second
)

// benchTimers moves 100,000 orders that are due in the same minute while other orders are moved by requests. It compares the
// latency of these requests with that before.
func benchTimers(ctx context.Context, work size) ([]figure, error) {
	rush, err := openRush(ctx, 50*work.orders)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rush.stop()) }()

	figures, err := rush.measure(ctx, max(work.budget, timersBefore))
	if err != nil {
		return nil, err
	}

	return figures, printRush(os.Stdout, figures)
}

// printRush prints the figures as one line of JSON.
func printRush(out io.Writer, figures []figure) error {
	line := struct {
		Name            string  `json:"name"`
		Count           float64 `json:"count"`
		Seconds         float64 `json:"seconds"`
		WriteUnitsOfRow float64 `json:"writeUnitsPerRow"`
		P99BeforeMs     float64 `json:"p99BeforeMs"`
		P99BesideMs     float64 `json:"p99BesideMs"`
	}{Name: "timers"}

	for _, f := range figures {
		switch f.name {
		case "timers_due":
			line.Count = f.value
		case "timers_seconds":
			line.Seconds = f.value
		case "timers_row_writes":
			line.WriteUnitsOfRow = f.value
		case "timers_p99_before_ms":
			line.P99BeforeMs = f.value
		case "timers_p99_beside_ms":
			line.P99BesideMs = f.value
		}
	}

	return json.NewEncoder(out).Encode(line)
}

func rushMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rush is orders that are due in the same minute, and other orders.
type rush struct {
	engine *embedded.Engine
	db     *dynamodb.Client
	orders *transitions.Orders
	timers [timersWorkers]*timers.Timers
	due    int
	made   atomic.Int64
	units  peaks
	stop   func() error
}

func openRush(ctx context.Context, due int) (r *rush, err error) {
	r = &rush{due: due}

	r.engine, r.stop, err = openEmbedded(embedded.Config{Consumed: func(table string, _, write float64) { r.units.add(table, write) }})
	if err != nil {
		return nil, err
	}
	r.db = dynamodb.NewFromConfig(r.engine.AWSConfig())

	if err := r.fill(ctx); err != nil {
		return nil, errors.Join(err, r.stop())
	}

	return r, nil
}

// fill places the orders and writes their due rows.
func (r *rush) fill(ctx context.Context) error {
	for _, table := range []*dynamodb.CreateTableInput{transitions.Mapping{}.OrdersTable(timersOrders), timers.TableInput(timersDue), transitions.RequestsTable(timersRequests)} {
		if _, err := r.db.CreateTable(ctx, table); err != nil {
			return err
		}
	}

	definition, err := workflow.OrderWith(workflow.Terms{ExpireUnpaid: time.Hour})
	if err != nil {
		return err
	}

	if r.orders, err = transitions.New(transitions.Config{DynamoDB: r.db, Table: timersOrders, RequestsTable: timersRequests, Definition: definition}); err != nil {
		return err
	}

	for n := range r.timers {
		if r.timers[n], err = timers.New(timers.Config{
			DynamoDB: r.db, Table: timersDue, Orders: r.orders, PerSecond: timersPerSecond,
			Applied: func(transitions.Timer, time.Duration) { r.made.Add(1) },
		}); err != nil {
			return err
		}
	}

	if err := r.place(ctx); err != nil {
		return err
	}

	// The other orders come later, so that they have no rows.
	if _, err := r.timers[0].Rebuild(ctx, nil); err != nil {
		return err
	}

	return r.placeOthers(ctx)
}

// placeOthers places the orders that are moved by requests.
func (r *rush) placeOthers(ctx context.Context) error {
	for n := range timersOthers {
		if _, err := r.orders.Create(ctx, transitions.NewOrder{ID: otherOrder(n), Total: transitions.Money{Amount: 1, Currency: "EUR"}}); err != nil {
			return err
		}
	}

	return nil
}

func otherOrder(n int) transitions.OrderID { return transitions.OrderID("other-" + strconv.Itoa(n)) }

// place writes orders that have entered their state in the same minute, more than an hour ago.
func (r *rush) place(ctx context.Context) error {
	minute := time.Now().Add(-2 * time.Hour)

	return r.copies(ctx, func(n int, order dynamo.Item) {
		order["enteredAt"] = dynamo.Millis(minute.Add(time.Duration(n%60_000) * time.Millisecond))
	})
}

// copies writes changed copies of an order that was placed.
func (r *rush) copies(ctx context.Context, change func(n int, order dynamo.Item)) error {
	if _, err := r.orders.Create(ctx, transitions.NewOrder{ID: "due-0", Total: transitions.Money{Amount: 2500, Currency: "EUR"}}); err != nil {
		return err
	}

	out, err := r.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(timersOrders), Key: dynamo.Item{"orderId": dynamo.S("due-0")}})
	if err != nil {
		return err
	}

	const batch = 25 // the most items of one BatchWriteItem

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)

	for first := 0; first < r.due; first += batch {
		group.Go(func() error {
			var writes []types.WriteRequest
			for n := first; n < min(first+batch, r.due); n++ {
				order := maps.Clone(out.Item)
				order["orderId"] = dynamo.S("due-" + strconv.Itoa(n))
				change(n, order)
				writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: order}})
			}

			left, err := r.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{timersOrders: writes}})
			if err == nil && len(left.UnprocessedItems) > 0 {
				err = errors.New("the engine did not take a whole batch")
			}

			return err
		})
	}

	return group.Wait()
}

// measure moves what is due, and measures the other work for a while before that and then meanwhile.
func (r *rush) measure(ctx context.Context, before time.Duration) ([]figure, error) {
	if _, err := r.engine.Inject(faults.Delay(timersDelay)); err != nil {
		return nil, err
	}

	// The first figure is what the second is compared with: the same work, with nothing due.
	alone, stop := context.WithTimeout(ctx, before)
	defer stop()

	p99Alone, err := r.others(alone)
	if err != nil {
		return nil, err
	}
	r.units.reset()

	meanwhile, stop := context.WithCancel(ctx)
	defer stop()

	var (
		p99  time.Duration
		took time.Duration
	)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		p99, err = r.others(meanwhile)
		return err
	})
	group.Go(func() error {
		defer stop()

		began := time.Now()
		err := r.sweepAll(groupCtx)
		took = time.Since(began)

		return err
	})

	if err := group.Wait(); err != nil {
		return nil, err
	}

	if made := int(r.made.Load()); made != r.due {
		return nil, fmt.Errorf("%d of %d orders were moved", made, r.due)
	}

	return []figure{
		{"timers_due", float64(r.due), "", "orders that time moves in the same minute"},
		{"timers_seconds", took.Seconds(), "s", fmt.Sprintf("until %d workers have moved all of them, with %s for each call", timersWorkers, timersDelay)},
		{"timers_per_second", float64(r.due) / took.Seconds(), "/s", "transitions that time makes"},
		{"timers_p99_before_ms", rushMillis(p99Alone), "ms", "p99 of 100 requests per second for other orders, before that"},
		{"timers_p99_beside_ms", rushMillis(p99), "ms", "the same beside it"},
		{"timers_p99_ratio", float64(p99) / float64(p99Alone), "", "p99 of 100 requests per second for other orders, beside the same before; goal: at most 2"},
		{"timers_row_writes", r.units.of(timersDue) / float64(r.due), "", "write units for the due row of an order; 1 if no two workers handle one row"},
		{"timers_write_units_peak", r.units.most(), "/s", "most write units of a table in one second; quota of a new table: 4,000"},
	}, nil
}

// sweepAll lets the workers sweep until nothing is due.
func (r *rush) sweepAll(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, worker := range r.timers {
		group.Go(func() error {
			for {
				swept, err := worker.Sweep(ctx, timersPage)
				if err != nil || !swept.More {
					return err
				}
			}
		})
	}

	return group.Wait()
}

// others requests transitions of other orders at a steady rate until the context ends, and returns the 99th percentile of
// their latencies. A latency counts from the moment at which its request was due, so it has the waits, too.
func (r *rush) others(ctx context.Context) (p99 time.Duration, err error) {
	var (
		mu        sync.Mutex
		latencies []time.Duration
	)
	group := errgroup.Group{}
	ticker := time.NewTicker(time.Second / timersOthers)
	defer ticker.Stop()

	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			err := group.Wait()
			if err == nil && len(latencies) == 0 {
				err = errors.New("no other order was moved")
			}

			if err != nil {
				return 0, err
			}
			slices.Sort(latencies)

			return latencies[len(latencies)*99/100], nil
		case due := <-ticker.C:
			group.Go(func() error {
				id := otherOrder(n % timersOthers)

				// Each order is held and released in turn. One that is still on its way to the other state refuses, which
				// takes as long.
				event := []workflow.Event{workflow.Hold, workflow.Release}[n/timersOthers%2]
				request := transitions.Request{OrderID: id, Event: event, RequestID: transitions.RequestID(fmt.Sprint(due.UnixNano()))}

				// A request that was sent is answered, also at the end.
				_, err := r.orders.Apply(context.WithoutCancel(ctx), request)

				mu.Lock()
				defer mu.Unlock()

				latencies = append(latencies, time.Since(due))

				return err
			})
		}
	}
}

// peaks are the write units that tables have consumed, in all and in each second.
type peaks struct {
	mu      sync.Mutex
	tables  map[string]float64
	seconds map[string]float64
}

func (p *peaks) add(table string, units float64) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.seconds == nil {
		p.tables, p.seconds = map[string]float64{}, map[string]float64{}
	}
	p.tables[table] += units
	p.seconds[table+strconv.FormatInt(time.Now().Unix(), 10)] += units
}

func (p *peaks) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()

	clear(p.tables)
	clear(p.seconds)
}

// of returns the units of a table.
func (p *peaks) of(table string) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.tables[table]
}

// most returns the most units of a table in one second.
func (p *peaks) most() (units float64) {
	p.mu.Lock()
	defer p.mu.Unlock()

	for _, u := range p.seconds {
		units = max(units, u)
	}

	return units
}
