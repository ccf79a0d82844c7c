package poller_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/poller"
)

// run polls the stream of orders with the handlers until ctx ends.
func run(ctx context.Context, cfg aws.Config, change func(*poller.Config), handlers ...streams.Handler) error {
	c := poller.Config{
		Streams: dynamodbstreams.NewFromConfig(cfg), DynamoDB: dynamodb.NewFromConfig(cfg),
		TableName: "orders", LeaseTable: "leases", DeadLetterTable: "dead-letters",
		Handlers:   handlers,
		PollActive: 10 * time.Millisecond, PollIdle: 10 * time.Millisecond, // the engine has no quotas
		Log: embeddedtest.Quiet(),
	}
	change(&c)

	poller, err := poller.New(c)
	if err != nil {
		return err
	}

	return poller.Run(ctx)
}

// A failed call is repeated after 1 ms, 2 ms and so on, and no sooner than the far side asks
// for. After three calls the record becomes a dead letter. The limits of time are not reached
// here.
func ExampleRetry() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	putOrder(ctx, db, "PAID")

	var first time.Time

	err := run(ctx, cfg, func(c *poller.Config) {
		c.Retry = streams.Retry{Attempts: 3, Base: time.Millisecond, Max: 10 * time.Millisecond, For: time.Minute}
		c.Events.DeadLetter = func(_ streams.Record, attempts int, err error) {
			fmt.Println("dead letter after", attempts, "attempts:", err)
			stop()
		}
	}, streams.Handler{Name: "notify", Handle: func(context.Context, streams.Record) error {
		if first.IsZero() {
			first = time.Now()
			return streams.RetryAfter(errors.New("too many requests"), 50*time.Millisecond)
		}
		fmt.Println("called again after 50 ms:", time.Since(first) >= 50*time.Millisecond)

		return errors.New("unavailable")
	}})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// called again after 50 ms: true
	// called again after 50 ms: true
	// dead letter after 3 attempts: unavailable
}

// A late record is compared with the item as it is now. The order was shipped meanwhile, so
// nothing is left to do: the redrive is skipped, and the dead letter stays.
func ExampleSkip() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	putOrder(ctx, db, "PAID")

	handler := streams.Handler{
		Name: "remind",
		Recheck: func(context.Context, streams.Record) error {
			return streams.Skip(errors.New("the order is SHIPPED"))
		},
		Handle: func(context.Context, streams.Record) error {
			return streams.Permanent(errors.New("no template"))
		},
	}

	err := run(ctx, cfg, func(c *poller.Config) {
		c.Events.DeadLetter = func(streams.Record, int, error) { stop() }
	}, handler)
	if err != nil {
		log.Fatal(err)
	}

	deadLetters := deadletters.Letters{DynamoDB: db, Table: "dead-letters"}
	ctx = context.Background()

	err = deadLetters.RedriveAll(ctx, handler, deadletters.Filter{}, func(_ deadletters.Letter, err error) {
		fmt.Println("skipped:", errors.Is(err, streams.ErrSkipped))
	})
	if err != nil {
		log.Fatal(err)
	}

	left, _, err := deadLetters.List(ctx, "remind", "", 0)
	fmt.Println(len(left), "dead letter is left", err)
	// Output:
	// skipped: true
	// 1 dead letter is left <nil>
}

// All dead letters of a handler are redriven when the cause is mended, those of an item in
// their order.
func Example_redriveAll() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	putOrder(ctx, db, "PAID")
	putOrder(ctx, db, "SHIPPED")

	err := run(ctx, cfg, func(c *poller.Config) {
		c.Events.DeadLetter = func(r streams.Record, _ int, _ error) {
			if state(r) == "SHIPPED" {
				stop()
			}
		}
	}, streams.Handler{Name: "notify", Handle: func(context.Context, streams.Record) error {
		return streams.Permanent(errors.New("no template"))
	}})
	if err != nil {
		log.Fatal(err)
	}

	mended := streams.Handler{Name: "notify", Handle: func(_ context.Context, r streams.Record) error {
		fmt.Println("notified:", state(r))
		return nil
	}}

	deadLetters := deadletters.Letters{DynamoDB: db, Table: "dead-letters"}
	filter := deadletters.Filter{Error: "no template"}

	err = deadLetters.RedriveAll(context.Background(), mended, filter, func(l deadletters.Letter, err error) {
		fmt.Println(l.Error, "->", err)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// notified: PAID
	// no template -> <nil>
	// notified: SHIPPED
	// no template -> <nil>
}
