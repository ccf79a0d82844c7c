package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/transitions"
)

const (
	kclLease = 10 * time.Second // LeaseDuration, and KCL's failover time
	// kclSettle is how long a second worker runs before the first one is killed. By then both have
	// announced themselves; KCL does so about every 30 s.
	kclSettle = time.Minute
	// kclLimit bounds each drain and each take-over. KCL takes 1 to 2 min to start, and its
	// leader lock alone lasts 2 min.
	kclLimit = 10 * time.Minute
)

// benchKCL compares the poller with the Kinesis Client Library and Amazon's adapter for DynamoDB
// Streams, each as processes, on the same stream of the same DynamoDB Local: draining a backlog, in
// turns, and the take-over after a worker was killed. It takes about 15 minutes. If a part cannot
// be built or started, its figures are left out, and stderr says so.
func benchKCL(ctx context.Context, work size) (figures []figure, err error) {
	if work.rounds <= 1 {
		fmt.Fprintln(os.Stderr, "bench: no figures of the Kinesis Client Library in a short run: they take about 15 minutes")
		return nil, nil
	}

	ours, theirs, err := buildPeers(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF THE KINESIS CLIENT LIBRARY, it cannot be built: %v\n\n", err)
		return nil, ctx.Err()
	}

	e, err := openLocal(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF THE KINESIS CLIENT LIBRARY, DynamoDB Local cannot be started: %v\n\n", err)
		return nil, ctx.Err()
	}
	defer func() { err = errors.Join(err, e.stop()) }()

	// Ten times the orders, so that a drain lasts long enough to be measured.
	c, err := newKCLComparison(ctx, e, 10*work.orders)
	if err != nil {
		return nil, fmt.Errorf("kcl: %w", err)
	}

	figures, err = c.drains(ctx, ours, theirs, work.rounds)
	if err != nil {
		return figures, fmt.Errorf("kcl: %w", err)
	}

	for _, taken := range []struct {
		name  string
		peer  peer
		about string
	}{
		{"takeover_seconds", ours, "from kill -9 of the worker that holds the shard to the first record of the other worker; LeaseDuration 10 s"},
		{"kcl_takeover_seconds", theirs, "the same of the Kinesis Client Library, failover time 10 s; the killed worker was also its leader"},
	} {
		seconds, err := c.takeOver(ctx, taken.peer)
		if err != nil {
			return figures, fmt.Errorf("kcl: %w", err)
		}
		figures = append(figures, figure{name: taken.name, value: seconds, unit: "s", about: taken.about})
	}

	return figures, nil
}

// kclComparison is a stream with a backlog that both peers read.
type kclComparison struct {
	*backlog
	endpoint     *endpoint
	applications int
}

func newKCLComparison(ctx context.Context, e *endpoint, records int) (*kclComparison, error) {
	if err := e.tables(ctx, transitions.Mapping{}.OrdersTable(streamTable)); err != nil {
		return nil, err
	}

	out, err := e.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(streamTable)})
	if err != nil {
		return nil, err
	}
	// The backlog writes the records.
	c := &kclComparison{endpoint: e, backlog: &backlog{db: e.db, arn: aws.ToString(out.Table.LatestStreamArn)}}

	return c, c.fill(ctx, dynamo.Item{"padding": dynamo.S(strings.Repeat("x", 1000))}, records)
}

// application returns the name of a new application, which begins with the first record. It creates
// the tables of the poller; KCL creates its own.
func (c *kclComparison) application(ctx context.Context, p peer) (string, error) {
	// A new name has no checkpoints.
	c.applications++
	name := "bench-" + p.name + "-" + strconv.Itoa(c.applications)

	if !p.ownTables {
		return name, nil
	}

	return name, c.endpoint.tables(ctx, leases.TableInput(name), deadletters.TableInput(name+"-letters"))
}

// start starts a worker that reports when it has handled this number of records.
func (c *kclComparison) start(ctx context.Context, p peer, application, name string, records int) (*peerProcess, error) {
	return p.start(ctx, c.endpoint.url, c.arn, application, name, strconv.FormatInt(kclLease.Milliseconds(), 10), strconv.Itoa(records))
}

// drain returns the number of records per second that a worker of the peer handles, from the first
// to the last record of the backlog.
func (c *kclComparison) drain(ctx context.Context, p peer) (rate float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, kclLimit)
	defer cancel()

	application, err := c.application(ctx, p)
	if err != nil {
		return 0, err
	}

	worker, err := c.start(ctx, p, application, "w-1", c.records)
	if err != nil {
		return 0, err
	}
	defer worker.kill()

	last, err := worker.await(ctx, "last")

	return float64(c.records) / last.Seconds, err
}

// drains compares the rates. KCL reads without a pause; once it also reads with its own pause of
// 1 s after each page.
func (c *kclComparison) drains(ctx context.Context, ours, theirs peer, rounds int) ([]figure, error) {
	peers := []peer{ours, theirs.with("0")}
	rates := make([][]float64, len(peers))

	for range rounds {
		// In random order, so that neither has always the warmer server.
		for _, n := range rand.Perm(len(peers)) {
			rate, err := c.drain(ctx, peers[n])
			if err != nil {
				return nil, err
			}
			rates[n] = append(rates[n], rate)
		}
	}

	paused, err := c.drain(ctx, theirs)

	return []figure{
		{
			name:  "kcl_drain_ratio",
			value: ratio(rates[0], rates[1]),
			about: fmt.Sprintf("%d records of 1 KB per image in one shard of DynamoDB Local, from the first record to the last: a poller / the Kinesis Client Library without pauses", c.records),
		},
		{name: "kcl_records_per_second", value: median(rates[1]), unit: "1/s"},
		{name: "kcl_paused_records_per_second", value: paused, unit: "1/s", about: "with the default pause of 1 s after each page"},
		{name: "kcl_poller_records_per_second", value: median(rates[0]), unit: "1/s"},
	}, err
}

// takeOver kills the worker that holds the shard, and returns the seconds until another one handles
// its first record, while records are written.
func (c *kclComparison) takeOver(ctx context.Context, p peer) (seconds float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, kclLimit)
	defer cancel()

	application, err := c.application(ctx, p)
	if err != nil {
		return 0, err
	}

	holder, err := c.start(ctx, p, application, "w-1", c.records)
	if err != nil {
		return 0, err
	}
	defer holder.kill()

	// Only now the worker holds the shard and has handled the whole backlog.
	if _, err := holder.await(ctx, "last"); err != nil {
		return 0, err
	}

	other, err := c.start(ctx, p, application, "w-2", 1)
	if err != nil {
		return 0, err
	}
	defer other.kill()

	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(kclSettle):
	}

	// Without new records the other worker would have nothing to show.
	stopWrites := c.keepWriting(ctx)
	began := time.Now()
	holder.kill()

	_, err = other.await(ctx, "first")
	seconds = time.Since(began).Seconds()

	return seconds, errors.Join(err, stopWrites())
}

// keepWriting writes a record every 100 ms until the returned function is called, which
// returns the first error.
func (c *kclComparison) keepWriting(ctx context.Context) (stop func() error) {
	writing, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)

	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()

		for n := 0; ; n++ {
			_, err := c.db.PutItem(writing, &dynamodb.PutItemInput{
				TableName: aws.String(streamTable),
				Item:      map[string]types.AttributeValue{"orderId": dynamo.S("o-1"), "n": dynamo.N(int64(n))},
			})
			// The end by stop is no error.
			if writing.Err() != nil {
				failed <- nil
				return
			}

			if err != nil {
				failed <- err
				return
			}

			<-tick.C
		}
	}()

	return func() error {
		cancel()
		return <-failed
	}
}
