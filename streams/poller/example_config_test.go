package poller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams"
	"ratchet/streams/lambda"
	"ratchet/streams/poller"
)

// The table's stream was switched off and on, and an order changed in between. The poller does
// not go on without its record.
func ExampleGapPolicy() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	handler := streams.Handler{Name: "print", Handle: func(_ context.Context, r streams.Record) error {
		fmt.Println(state(r))
		stop()

		return nil
	}}
	halt := func(c *poller.Config) { c.OnGap, c.LeaseDuration = streams.GapHalt, time.Second }

	putOrder(ctx, db, "PAID")
	fmt.Println(run(ctx, cfg, halt, handler))

	ctx = context.Background()
	switchStream(ctx, db, &types.StreamSpecification{StreamEnabled: aws.Bool(false)})
	putOrder(ctx, db, "SHIPPED")
	switchStream(ctx, db, &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages})
	putOrder(ctx, db, "DELIVERED")

	var gap *streams.GapError
	if err := run(ctx, cfg, halt, handler); errors.As(err, &gap) {
		fmt.Println("gap:", gap.Gap.Reason)
	}
	// Output:
	// PAID
	// <nil>
	// gap: stream replaced
}

func switchStream(ctx context.Context, db *dynamodb.Client, spec *types.StreamSpecification) {
	if _, err := db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String("orders"), StreamSpecification: spec}); err != nil {
		log.Fatal(err)
	}
}

// A new handler does not need the changes of the past: it starts with the next one.
func ExamplePosition() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	putOrder(ctx, db, "PAID")

	err := run(ctx, cfg, func(c *poller.Config) {
		c.Start = streams.Latest
		c.Events.Lease = func(e streams.LeaseEvent) {
			if e.Change == streams.LeaseTaken {
				putOrder(context.Background(), db, "SHIPPED")
			}
		}
	}, streams.Handler{Name: "print", Handle: func(_ context.Context, r streams.Record) error {
		// The start is known to within a second, so a change of the second before may come, too.
		if state(r) == "SHIPPED" {
			fmt.Println(state(r))
			stop()
		}

		return nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	// Output: SHIPPED
}

// Two calls may run at a time, whichever items and shards their records belong to.
func ExampleConfig_concurrency() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	for i := range 6 {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: fmt.Sprint("o-", i)},
		}})
		if err != nil {
			log.Fatal(err)
		}
	}

	var running, most, calls atomic.Int64

	both := make(chan struct{})
	meet := sync.OnceFunc(func() { close(both) })

	err := run(ctx, cfg, func(c *poller.Config) {
		c.Concurrency = 2
	}, streams.Handler{Name: "slow", Handle: func(context.Context, streams.Record) error {
		defer running.Add(-1)

		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}

		// The first call waits for a second one, so that two run at a time whatever the machine does.
		if running.Load() == 2 {
			meet()
		}
		<-both

		if calls.Add(1) == 6 {
			stop()
		}

		return nil
	}})
	fmt.Println("at most", most.Load(), "calls at a time", err)
	// Output: at most 2 calls at a time <nil>
}

// After a stop, a running call may go on for 10 ms. Then its context ends.
func ExampleConfig_drainTimeout() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	putOrder(ctx, db, "PAID")

	err := run(ctx, cfg, func(c *poller.Config) {
		c.DrainTimeout = 10 * time.Millisecond
	}, streams.Handler{Name: "slow", Handle: func(ctx context.Context, _ streams.Record) error {
		stop()
		<-ctx.Done()
		fmt.Println("stopped:", errors.Is(context.Cause(ctx), streams.ErrStopped))

		return context.Cause(ctx)
	}})
	fmt.Println(err)
	// Output:
	// stopped: true
	// <nil>
}

// One call of a function's handlers runs at a time.
func Example_lambdaConfig() {
	function, err := lambda.New(lambda.Config{
		Concurrency: 1,
		Handlers: []streams.Handler{{Name: "print", Handle: func(_ context.Context, r streams.Record) error {
			fmt.Println("begin")
			time.Sleep(time.Millisecond)
			fmt.Println("end")

			return nil
		}}},
	})
	if err != nil {
		log.Fatal(err)
	}

	_, err = function.Handle(context.Background(), json.RawMessage(`{"Records": [
		{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "100", "Keys": {"id": {"S": "o-1"}}}},
		{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "101", "Keys": {"id": {"S": "o-2"}}}}]}`))
	fmt.Println(err)
	// Output:
	// begin
	// end
	// begin
	// end
	// <nil>
}
